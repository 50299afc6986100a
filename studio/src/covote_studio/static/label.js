// The labelling screen. An answer is kept in this browser until the server has confirmed it.
"use strict";
(() => {
  const desk = document.getElementById("desk");
  const data = JSON.parse(desk.dataset.state);
  const at = (id) => document.getElementById(id);
  const store = data.store;
  const root = document.documentElement.dataset.root; // where the pages of this project begin
  const here = (address) => (address.startsWith("/") ? root + address : address);
  const SEEN = 300; // milliseconds for which an item must have been in view before a choice counts
  const DOUBLE = 500; // milliseconds within which the second half of a double tap comes
  let queue = data.leases, done = data.done, left = data.left, why = at("reason").textContent;
  const kept = `place-${store.replaceAll(":", "-")}`; // where this browser has come to
  let sending = false, connected = true, wait = 1000, timer = 0, keysOn = true;
  let ready = Infinity, readyTimer = 0, chosenAt = -Infinity, broken = false, stale = false;

  // What is not sent yet: one entry of localStorage per answer, so that two tabs never overwrite each other.
  const memory = new Map();
  const outbox = {
    put(entry) {
      memory.set(entry.key, entry);
      try { localStorage.setItem(store + entry.key, JSON.stringify(entry)); } catch { /* private mode: memory only */ }
    },
    drop(key) { memory.delete(key); try { localStorage.removeItem(store + key); } catch { /* nothing kept */ } },
    all() {
      const found = new Map(memory);
      try {
        for (let n = 0; n < localStorage.length; n++) {
          const name = localStorage.key(n);
          if (name.startsWith(store)) { const one = JSON.parse(localStorage.getItem(name)); found.set(one.key, one); }
        }
      } catch { /* nothing readable */ }
      return [...found.values()].sort((a, b) => a.at - b.at);
    },
  };

  function notify(text, problem) {
    const place = at("notice");
    place.replaceChildren();
    if (!text) return;
    const line = document.createElement("p");
    line.className = problem ? "notice problem" : "notice";
    line.setAttribute("role", problem ? "alert" : "status");
    line.textContent = text;
    place.append(line);
  }

  // A choice counts once the item has been visible, with its picture, for a moment, and a double tap is over.
  function arm() {
    clearTimeout(readyTimer);
    const delay = Math.max(SEEN, chosenAt + DOUBLE - performance.now());
    ready = performance.now() + delay;
    readyTimer = setTimeout(() => { desk.dataset.ready = "yes"; }, delay);
  }
  function disarm() { clearTimeout(readyTimer); ready = Infinity; delete desk.dataset.ready; }

  function content(lease) {
    const place = at("content");
    let part;
    broken = false;
    disarm();
    if (lease.kind === "image") {
      part = document.createElement("img");
      part.alt = "Picture to be labelled: " + lease.key;
      part.addEventListener("load", () => {
        part.classList.toggle("small", part.naturalHeight < 120);
        if (part.isConnected) arm();
      });
      part.addEventListener("error", () => { if (part.isConnected) notLoaded(lease); });
      part.src = here(lease.content);
    } else if (lease.kind === "audio") {
      part = document.createElement("audio");
      part.controls = true;
      part.src = here(lease.content);
    } else {
      part = document.createElement("p");
      part.className = "text";
      part.dir = "auto";
      part.textContent = lease.content;
    }
    place.replaceChildren(part);
    if (lease.kind !== "image") arm();
    at("zoom").hidden = lease.kind !== "image";
  }

  function notLoaded(lease) {
    const text = document.createElement("p"), again = document.createElement("button");
    text.textContent = "The picture could not be loaded. ";
    again.type = "button";
    again.textContent = "Try again";
    again.addEventListener("click", () => content(lease));
    text.append(again);
    at("content").replaceChildren(text);
    broken = true;
    arm();
  }

  function counters() {
    at("counted").textContent = left === null ? `${done.toLocaleString()} answered` : `${done.toLocaleString()} answered, ${left.toLocaleString()} to go`;
    const bar = at("bar");
    if (left !== null) { bar.max = Math.max(1, done + left); bar.value = done; } else bar.hidden = true;
  }

  function show() {
    const lease = queue[0];
    at("working").hidden = !lease;
    at("nothing").hidden = Boolean(lease);
    counters();
    if (!lease) { disarm(); nothing(); remember(); return; }
    content(lease);
    at("f-item").value = lease.item_id;
    at("f-token").value = lease.token;
    at("f-key").value = lease.answer_key;
    at("trial").hidden = !lease.trial;
    marked(lease);
    if (at("search")) { at("search").value = ""; filter(); }
    at("content").scrollTop = 0;
    remember();
    prefetch();
  }

  // What a reload without a connection continues from; answers that are not sent yet are counted again there.
  function remember() {
    const unsent = outbox.all().filter((one) => one.comment === undefined && !one.change).length;
    const now = { screen: data.screen, queue: queue.filter((one) => one.chosen === null), done: done - unsent, left: left === null ? null : left + unsent };
    try { localStorage.setItem(kept, JSON.stringify(now)); } catch { /* private mode */ }
  }

  function marked(lease) {
    for (const button of document.querySelectorAll(".choice")) {
      button.setAttribute("aria-pressed", String(lease.chosen !== null && String(lease.chosen) === button.value));
      button.classList.remove("flash");
    }
    at("where").textContent = lease.chosen === null ? lease.title : "Change: " + lease.title;
    at("where").title = lease.title;
  }

  function nothing() {
    const more = left === null || left > 0;
    at("reason").textContent = connected || !more ? why : "You are offline, and every item kept on this device is answered" +
      (left ? `; ${left.toLocaleString()} to go` : "") + ". The next ones come when you are back online.";
  }

  // Load the pictures of the next items, one after another, so that they are available offline.
  let fetching = false;
  const fetched = new Set();
  function prefetch() {
    if (fetching) return;
    const next = queue.find((one) => one.kind === "image" && !fetched.has(one.content));
    if (!next) { desk.dataset.kept = "yes"; return; }
    delete desk.dataset.kept;
    fetching = true;
    fetched.add(next.content);
    const picture = new Image();
    picture.onload = picture.onerror = () => { fetching = false; prefetch(); };
    picture.src = here(next.content);
  }

  // The moment of the tap counts, not the moment when a busy browser handles it.
  function choose(button, now) {
    const lease = queue[0];
    if (!lease || now < ready || document.hidden) return;
    if (broken && Number(button.value) !== data.unsure) { notify("The picture was not loaded: choose “not sure”, or try again.", true); return; }
    chosenAt = now;
    outbox.put({ item: lease.item_id, token: lease.token, key: lease.answer_key, choice: Number(button.value), shown: data.shown, screen: data.screen, at: Date.now(), change: lease.chosen !== null });
    if (lease.chosen === null) { done += 1; if (left !== null) left = Math.max(0, left - 1); }
    queue = queue.filter((one) => one.item_id !== lease.item_id && one.chosen === null);
    notify("");
    at("announce").textContent = "Answered " + button.dataset.name;
    button.classList.add("flash");
    setTimeout(() => { button.classList.remove("flash"); }, 140);
    show();
    flush();
  }

  async function post(url, body) {
    return fetch(root + url, { method: "POST", headers: { "Content-Type": "application/json", Accept: "application/json" }, body: JSON.stringify(body), credentials: "same-origin" });
  }

  function merge(leases) {
    const unsent = new Set(outbox.all().map((one) => one.item));
    const here = new Set(queue.map((one) => one.item_id));
    for (const lease of leases) if (!here.has(lease.item_id) && !unsent.has(lease.item_id)) queue.push(lease);
    if (at("working").hidden && queue.length) show();
    else { remember(); prefetch(); }
  }

  async function flush() {
    if (sending) return;
    sending = true;
    clearTimeout(timer);
    try {
      for (let entry = outbox.all()[0]; entry; entry = outbox.all()[0]) {
        const waiting = outbox.all().length - 1;
        const wanted = queue.length > data.ahead / 2 ? 0 : data.ahead;
        const answer = entry.comment === undefined
          ? await post("/label/answer", { item: entry.item, token: entry.token, key: entry.key, choice: entry.choice, shown: entry.shown, screen: data.screen, unsent: waiting, want: wanted })
          : await post("/label/flag", { item: entry.item, comment: entry.comment });
        if (answer.status >= 500 || answer.status === 429) throw new Error("later");
        if (answer.status === 401) { offline("You have been signed out. Your answers are kept on this device; sign in again in this browser."); return; }
        const reply = await answer.json();
        outbox.drop(entry.key);
        wait = 1000;
        connected = true;
        offline("");
        if (!answer.ok) {
          if (entry.comment === undefined && !entry.change) { done -= 1; if (left !== null) left += 1; }
          notify(reply.detail, true);
          await refill();
        } else accept(reply, entry);
      }
      if (!queue.length) await refill();
      if (stale) renew();
    } catch {
      const count = outbox.all().length;
      connected = false;
      offline(`Offline: ${count} answer${count === 1 ? "" : "s"} saved on this device; ${count === 1 ? "it" : "they"} will be sent when you are back online.`);
      if (!queue.length) nothing();
      timer = setTimeout(flush, wait);
      wait = Math.min(wait * 2, 30000);
    } finally {
      sending = false;
    }
  }

  // The classes have changed: when everything is sent, the page is loaded again, and says what it said here.
  function renew() {
    if (document.querySelector("dialog[open]") || outbox.all().length) return;
    try { sessionStorage.setItem(store + "notice", at("notice").textContent.trim() || "Your classes have changed."); } catch { /* unsaid */ }
    location.reload();
  }

  function accept(reply, entry) {
    if (reply.reload) stale = true;
    if (reply.done !== undefined) {
      const more = outbox.all().filter((one) => one.comment === undefined && !one.change).length;
      done = reply.done + more;
      left = reply.left === null ? null : Math.max(0, reply.left - more);
      counters();
    }
    if (reply.leases) merge(reply.leases);
    reason(reply.reason);
    if (reply.flagged) notify("Thank you. The owner will see your comment.");
    else if (reply.right) notify(reply.right);
    else if (reply.replaced && !entry.change) {
      notify(`This replaces your earlier answer “${reply.replaced}”, which you gave in another tab or on another device.`);
    }
  }

  async function refill() {
    const answer = await post("/label/next", { screen: data.screen });
    if (!answer.ok) return;
    const reply = await answer.json();
    if (reply.reload) { stale = true; renew(); }
    merge(reply.leases);
    reason(reply.reason);
    if (!queue.length) show();
  }

  function reason(text) { if (text) { why = text; if (!queue.length) nothing(); } }
  function offline(text) { at("offline").textContent = text; at("offline").hidden = !text; }

  // Every undo goes one answer further back: to the one before the answer that is open for a change.
  async function undo() {
    await flush();
    if (outbox.all().length) { notify("Undo works again when the connection is back.", true); return; }
    const opened = queue[0] && queue[0].chosen !== null ? queue[0].item_id : null;
    const answer = await post("/label/undo", { before: opened }).catch(() => null);
    if (!answer) { offline("No connection; try again in a moment."); return; }
    const reply = await answer.json();
    if (!answer.ok) { notify(reply.detail, true); return; }
    queue = [reply.lease, ...queue.filter((one) => one.chosen === null && one.item_id !== reply.lease.item_id)];
    show();
    notify("");
    at("where").focus();
  }

  const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();

  function filter() {
    const wanted = plain(at("search").value.trim());
    let shown = 0;
    for (const button of document.querySelectorAll("#choices .choice")) {
      const match = plain(button.textContent).includes(wanted);
      button.hidden = !match;
      shown += match;
    }
    at("found").textContent = wanted ? `${shown} found` : "";
  }

  at("answers").addEventListener("submit", (event) => {
    event.preventDefault();
  });
  at("answers").addEventListener("click", (event) => {
    const button = event.target.closest(".choice");
    if (!button) return;
    event.preventDefault();
    choose(button, event.timeStamp);
  });
  at("undo").addEventListener("click", undo);
  at("skip").addEventListener("click", () => { // leave an answer that is open for a change as it is
    queue = queue.filter((one) => one.chosen === null);
    show();
  });
  if (at("search")) {
    at("search").addEventListener("input", filter);
    at("search").addEventListener("keydown", (event) => {
      if (event.key === "Escape") { at("search").value = ""; filter(); at("search").blur(); at("where").focus(); }
      if (event.key !== "Enter") return;
      event.preventDefault();
      const first = document.querySelector("#choices .choice:not([hidden])");
      if (first && at("search").value.trim()) choose(first, event.timeStamp);
    });
  }

  at("flag").addEventListener("click", () => { if (queue[0]) { at("comment").value = ""; at("flagging").showModal(); } });
  at("flagging").addEventListener("click", (event) => {
    const reason = event.target.closest("[data-reason]");
    if (reason) { at("comment").value = reason.dataset.reason; at("flag-form").requestSubmit(); }
    if (event.target.closest("[data-close]")) at("flagging").close();
  });
  at("flag-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const comment = at("comment").value.trim();
    if (!queue[0] || !comment) return;
    outbox.put({ item: queue[0].item_id, comment, key: "flag-" + queue[0].answer_key, at: Date.now() });
    at("flagging").close();
    flush();
  });

  if (at("guide")) at("guide").addEventListener("click", async () => {
    if (!at("guidance").childElementCount) {
      const answer = await fetch(root + "/label/guide", { credentials: "same-origin" }).catch(() => null);
      if (!answer || !answer.ok) { notify("The guide could not be loaded; try again in a moment.", true); return; }
      at("guidance").innerHTML = await answer.text(); // made by the server, where every text is escaped
    }
    at("guiding").showModal();
  });
  at("guiding").addEventListener("click", (event) => { if (event.target.closest("[data-close]")) at("guiding").close(); });

  at("keys").addEventListener("change", () => {
    keysOn = at("keys").checked;
    try { localStorage.setItem("covote:keys", String(keysOn)); } catch { /* not remembered */ }
  });
  try { keysOn = localStorage.getItem("covote:keys") !== "false"; } catch { /* as it is */ }
  at("keys").checked = keysOn;
  document.addEventListener("keydown", (event) => {
    if (!keysOn || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (event.target.matches("input:not([type=checkbox]), textarea, select") || document.querySelector("dialog[open]")) return;
    const key = event.key.toLowerCase();
    if (key === "/" && at("search")) { event.preventDefault(); at("search").focus(); return; }
    if (key === "u") { undo(); return; }
    if (key === "z" && !at("zoom").hidden) { at("zoom").click(); return; }
    const button = document.querySelector(`.choice[data-key="${CSS.escape(key)}"]`);
    if (button) { event.preventDefault(); choose(button, event.timeStamp); }
  });
  addEventListener("online", flush);
  addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return;
    if (ready < Infinity) arm();
    if (!sending && !outbox.all().length) refill().catch(() => {});
  });
  document.addEventListener("close", () => { if (stale) renew(); }, true); // of a dialog

  // An item that another tab answers is not asked again here; if it is in view, it shows that answer.
  addEventListener("storage", (event) => {
    if (!event.key || !event.key.startsWith(store) || !event.newValue) return;
    const entry = JSON.parse(event.newValue);
    if (entry.comment !== undefined) return;
    if (!entry.change) { done += 1; if (left !== null) left = Math.max(0, left - 1); }
    if (queue[0] && queue[0].item_id === entry.item) {
      queue[0].chosen = entry.choice;
      marked(queue[0]);
    } else queue = queue.filter((one) => one.item_id !== entry.item);
  });

  // Without a connection the page is the one that was kept, and its items are those of a while ago.
  if (document.documentElement.dataset.offline !== undefined) {
    try {
      const before = JSON.parse(localStorage.getItem(kept));
      if (before && before.screen === data.screen) ({ queue, done, left } = before);
    } catch { /* as the page has it */ }
    connected = false;
    offline("Offline: your answers are saved on this device, and sent when you are back online.");
  }
  if ("serviceWorker" in navigator) navigator.serviceWorker.register(`${root}/offline.js`, { scope: `${root}/label` }).catch(() => {});

  // Unsent answers of an earlier visit go first; their items are not shown again.
  const waiting = outbox.all().filter((one) => one.comment === undefined);
  const unsent = new Set(waiting.map((one) => one.item));
  const counted = waiting.filter((one) => !one.change).length;
  done += counted;
  if (left !== null) left = Math.max(0, left - counted);
  try {
    const before = sessionStorage.getItem(store + "notice");
    sessionStorage.removeItem(store + "notice");
    if (before) notify(before);
  } catch { /* nothing to say */ }
  queue = queue.filter((one) => !unsent.has(one.item_id) || one.chosen !== null);
  show();
  if (outbox.all().length || !queue.length) flush();
})();
