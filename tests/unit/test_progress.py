import signal
import threading

import pytest

from covote.progress import Work


def test_steps_are_counted_up_to_the_total():
    told = []
    work = Work(10, lambda *report: told.append(report))
    assert not work.advance(4, "a")
    assert not work.advance(40, "b")
    assert told == [(4, 10, "a"), (10, 10, "b")]


def test_stopping_the_whole_stops_its_parts_and_the_other_way_round():
    work = Work(10)
    part = work.part("inside")
    assert not part.advance(5)
    work.stop()
    assert part.stopped
    assert part.advance(5)
    other = Work(10)
    other.part("inside").part("further inside").stop()
    assert other.stopped


def test_a_part_counts_as_much_as_it_is_worth():
    told = []
    work = Work(100, lambda *report: told.append(report))
    for number in range(2):
        part = work.part(f"pass {number + 1}", total=3, share=50)
        for _ in range(3):
            part.advance(1, "not told")
    assert [done for done, _, _ in told] == [16, 33, 50, 66, 83, 100]
    assert told[-1] == (100, 100, "pass 2")


def test_a_callback_that_is_interrupted_asks_to_stop():
    def progress(done, total, message):
        raise KeyboardInterrupt

    work = Work(10, progress)
    assert work.part("inside").advance(1)
    assert work.stopped


def test_the_second_interruption_interrupts():
    before = signal.getsignal(signal.SIGINT)
    with Work(10) as work:
        signal.raise_signal(signal.SIGINT)
        assert work.stopped
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_work_in_another_thread_leaves_the_signals_alone():
    seen = []

    def run():
        with Work(1) as work:
            seen.append(signal.getsignal(signal.SIGINT))
            work.advance(1)

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [before]
