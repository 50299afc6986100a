"""Somebody who taps at random: taps, double taps, Back, reload, no connection, two tabs.

Stored next to it is what was in view at every tap. In the end every item that was tapped when it had been in
view long enough has one answer, and no other item has any.
"""

import random

from playwright.sync_api import Error

READY = "document.getElementById('desk')?.dataset.ready === 'yes'"
WHERE = "document.getElementById('working').hidden ? '' : document.getElementById('where').title"


class Tapper:
    """A phone in somebody's hands."""

    def __init__(self, page, address, seed):
        self.tabs, self.address, self.chance = [page], address, random.Random(seed)
        self.answered, self.maybe, self.online, self.taps = [], set(), True, 0

    @property
    def page(self):
        return self.tabs[-1]

    def open(self):
        self.page.goto(f"{self.address}/label")
        self.page.wait_for_selector("#desk[data-kept]")

    def place(self):
        box = self.page.locator("#choices .choice").first.bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def tap(self, times=1, patient=True):
        """Tap the first class, once or several times as fast as a finger can."""
        if patient:
            self.page.wait_for_selector("#desk[data-ready], #nothing:not([hidden])")
        where, ready = self.page.evaluate(f"[{WHERE}, {READY}]")
        if not where:  # everything that is kept on the device is answered
            if not self.online:
                self.connection()
            return
        x, y = self.place()
        for _ in range(times):
            self.page.touchscreen.tap(x, y)
            self.taps += 1
        # Not ready when we looked: it may have become so before the finger came down.
        if ready:
            self.answered.append(where)
        else:
            self.maybe.add(where)

    def reload(self):
        if self.online:
            self.page.reload()
            self.page.wait_for_selector("#desk[data-kept]")

    def back(self):
        if self.online:
            self.page.goto(f"{self.address}/me")
            self.page.go_back()
            self.page.wait_for_selector("#desk[data-kept]")

    def connection(self):
        self.online = not self.online
        self.page.context.set_offline(not self.online)
        if self.online:
            for tab in self.tabs:
                tab.evaluate("dispatchEvent(new Event('online'))")

    def other_tab(self):
        if not self.online:
            return
        if len(self.tabs) == 1:
            self.tabs.append(self.page.context.new_page())
            self.open()
        else:
            self.tabs.reverse()
            self.page.bring_to_front()

    def step(self):
        chance = self.chance.random()
        if chance < 0.55:
            self.tap()
        elif chance < 0.72:
            self.tap(times=2)
        elif chance < 0.80:
            self.tap(times=2, patient=False)
        elif chance < 0.85:
            self.reload()
        elif chance < 0.89:
            self.back()
        elif chance < 0.95:
            self.connection()
        else:
            self.other_tab()

    def end(self):
        """Go online, and wait until everything is sent."""
        if not self.online:
            self.connection()
        for tab in self.tabs:
            for _ in range(600):
                try:
                    if tab.evaluate("Object.keys(localStorage).filter(k => /:\\d+:/.test(k)).length === 0"):
                        break
                except Error:
                    pass
                tab.wait_for_timeout(100)

    def check(self, keys):
        """Compare with the keys of the items of all answers that the server has, in their order."""
        once = set(keys)
        assert set(self.answered) <= once, "lost"
        assert once <= set(self.answered) | self.maybe, "invented"
        return len(keys) - len(once)
