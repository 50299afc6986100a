import pytest

from covote.progress import Watch, interruptible


def test_moves_are_counted_up_to_the_plan():
    told = []
    watch = Watch(10, lambda *report: told.append(report))
    assert not watch.moved(4, "a")
    assert not watch.moved(40, "b")
    assert told == [(4, 10, "a"), (10, 10, "b")]


def test_stopping_the_whole_stops_its_parts():
    watch = Watch(10, None)
    part = watch.part()
    assert not part.moved(5, "inside")
    watch.stop()
    assert part.stopped
    assert part.moved(5, "inside")


def test_a_callback_that_is_interrupted_asks_to_stop():
    def progress(made, planned, message):
        raise KeyboardInterrupt

    watch = Watch(10, progress)
    assert watch.part().moved(1, "inside")
    assert watch.stopped


def test_the_second_interruption_interrupts():
    import signal

    watch = Watch(10, None)
    with interruptible(watch):
        signal.raise_signal(signal.SIGINT)
        assert watch.stopped
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
