"""Few threads work at a time, and one that waits for an answer is none of them."""

import threading

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
