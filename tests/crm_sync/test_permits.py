"""Few threads work at a time, and one that waits for an answer is none of them."""

import threading
import time

import pytest

from crm_sync import permits
from tests.together import together

pytestmark = pytest.mark.django_db(transaction=True)
TWICE = 2 * permits.PERMITS


def test_no_more_threads_work_than_there_are_permits():
    lock, here, most = threading.Lock(), [0], [0]
    pause = threading.Event()

    def work() -> None:
        with permits.held():
            with lock:
                here[0] += 1
                most[0] = max(most[0], here[0])
            pause.wait(0.05)
            with lock:
                here[0] -= 1

    together(work, workers=TWICE)
    assert most == [permits.PERMITS]


def test_a_thread_that_waits_for_an_answer_lets_another_work():
    all_wait = threading.Barrier(TWICE)

    def call() -> None:
        with permits.held(), permits.away():
            all_wait.wait(20)

    together(call, workers=TWICE)
    assert not all_wait.broken


def test_who_has_no_permit_calls_all_the_same():
    with permits.away():
        pass
    with permits.held():
        pass


def test_who_comes_back_from_a_call_goes_before_turns_that_have_not_begun():
    order, lock = [], threading.Lock()
    called, answered, one_ends, all_end = (threading.Event() for _ in range(4))

    def turn_with_a_call() -> None:
        with permits.held():
            with permits.away():
                called.set()
                assert answered.wait(20)
            with lock:
                order.append("back")

    def long_turn(ends: threading.Event) -> None:
        with permits.held():
            assert ends.wait(20)

    def turn_that_begins() -> None:
        with permits.held(), lock:
            order.append("begins")

    threads = [threading.Thread(target=turn_with_a_call)]
    threads[0].start()
    assert called.wait(20)
    ends = [one_ends, *[all_end] * (permits.PERMITS - 1)]
    threads += [threading.Thread(target=long_turn, args=(one,)) for one in ends]
    for thread in threads[1:]:
        thread.start()
    until(lambda: permits._permits._free == 0)
    beginners = [threading.Thread(target=turn_that_begins) for _ in range(3)]
    for thread in beginners:
        thread.start()
    until(lambda: len(permits._permits._beginning) == 3)
    answered.set()
    until(lambda: len(permits._permits._returning) == 1)
    one_ends.set()
    until(lambda: len(order) == 4)  # one permit goes from hand to hand
    assert order == ["back", *["begins"] * 3]
    all_end.set()
    for thread in (*threads, *beginners):
        thread.join(20)


def until(is_so) -> None:
    end = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.001)
