"""A change that is repeated with its key is sent again only if it was certainly not done."""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Event

import pytest
import time_machine
from django.db import transaction

from crm_sync.models import hold
from crm_sync.platform.work_kind import WorkKind
from orders.models import ChangeRequest, Order
from tests.api import error, program
from tests.orders.conftest import calls, lost, now
from tests.together import together

OUTCOME_KNOWN = timedelta(seconds=51)  # the deadline, and the late effect of a call


@pytest.fixture
def erp(workspace, home):
    return program(workspace)


@pytest.fixture
def repeat(erp, scheduled):
    """Return a function that sends one change with one key, and returns the answer."""

    def send(kind: str = "cancel", user: str = "AGENT-1"):
        where = f"/orders/{scheduled.platform_id}/{kind}"
        return erp.call("POST", where, {"user": user}, Idempotency_Key="k")

    return send


def outcome() -> str:
    return ChangeRequest.objects.get().outcome


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ("401 No", (503, "platform_unavailable")),
        ("403 No", (503, "platform_unavailable")),
        ("404 No", (409, "not_on_platform")),
        ("410 No", (409, "not_on_platform")),
        ("429 Too Many Requests", (503, "platform_unavailable")),
    ],
)
def test_what_was_not_done_is_sent_again_with_its_key_and_then_never_more(
    repeat, box, wire, status, told
):
    wire.answers["/cancel"] = (status, b"{}")
    for _ in range(2):
        assert error(repeat())[:2] == told
        assert outcome() == "NOT_DONE"
    del wire.answers["/cancel"]
    for _ in range(2):
        done = repeat()
        assert (done.status_code, done.json()["status"]) == (200, "CANCELLED")
    request = ChangeRequest.objects.get()
    assert (request.outcome, request.words, len(calls(box, "PUT"))) == ("DONE", "", 1)


@pytest.mark.rule("I34")
def test_what_a_person_held_at_the_last_moment_is_sent_again_with_its_key(
    repeat, box, wire, workspace
):
    def pause() -> None:
        hold.pause(workspace.pk, [WorkKind.ORDERS], reason="prices are wrong", now=now())

    # A user who is not known here yet is looked up.
    box.workspace.users["901"] = {"id": "901", "userReferenceId": "AGENT-9"}
    wire.before["/v1/users"] = pause
    assert error(repeat(user="AGENT-9"))[:2] == (409, "on_hold")
    assert (outcome(), calls(box, "PUT")) == ("NOT_DONE", [])
    hold.resume(workspace.pk, [WorkKind.ORDERS], now=now())
    assert repeat(user="AGENT-9").status_code == 200
    assert (outcome(), len(calls(box, "PUT"))) == ("DONE", 1)


@pytest.mark.django_db(transaction=True)
def test_of_two_repeated_calls_at_one_moment_one_is_sent_and_the_other_is_told(
    transactional_db, repeat, box, wire
):
    wire.answers["/cancel"] = ("429 Too Many Requests", b"{}")
    assert repeat().status_code == 503
    wire.answers.clear()
    told = Event()
    wire.before["/cancel"] = lambda: told.wait(10)

    def call() -> tuple[int, str]:
        answer = repeat()
        told.set()
        return answer.status_code, answer.json().get("code", "")

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():  # until both have seen that it was not done
            ChangeRequest.objects.select_for_update().get()
            both = pool.submit(together, call, workers=2)
            time.sleep(1)
        found = both.result()
    assert sorted(found) == [(200, ""), (409, "already_sent")]
    assert len(calls(box, "PUT")) == 1


def test_what_the_platform_refused_is_told_again_and_not_sent_again(repeat, box, wire):
    wire.answers["/cancel"] = ("409 Conflict", b'{"message": "not today"}')
    assert error(repeat())[:2] == (409, "refused_by_platform")
    wire.answers.clear()
    again = repeat()
    assert error(again)[:2] == (409, "refused_by_platform")
    assert again.json()["message"] == (
        "The platform refused this before, and it was not sent again: not today"
    )
    assert (outcome(), calls(box, "PUT")) == ("REFUSED", [])


def test_an_unclear_cancellation_that_a_read_shows_is_done(repeat, box, wire, drain_all):
    wire.after["/cancel"] = lost
    unclear = repeat()
    assert error(unclear)[:2] == (504, "outcome_unknown")
    assert unclear.json()["message"] == (
        f"It is not known whether {Order.objects.get()} was changed."
        " The platform did not answer in time."
    )
    drain_all()
    done = repeat()
    assert (done.status_code, done.json()["status"]) == (200, "CANCELLED")
    assert (outcome(), len(calls(box, "PUT"))) == ("DONE", 1)


def test_an_unclear_cancellation_is_sent_again_once_a_late_read_shows_the_order_open(
    repeat, box, wire, drain_all
):
    wire.before["/cancel"] = lost
    assert error(repeat())[:2] == (504, "outcome_unknown")
    drain_all()
    early = repeat()
    assert error(early)[:2] == (409, "already_sent")
    assert early.json()["message"] == (
        "This was sent before: it is not known whether it was done."
        " The order is read again: repeat the call in some minutes."
    )
    assert calls(box, "PUT") == []
    with time_machine.travel(now() + OUTCOME_KNOWN):
        drain_all()
        done = repeat()
        assert (done.status_code, done.json()["status"]) == (200, "CANCELLED")
    assert (outcome(), len(calls(box, "PUT"))) == ("DONE", 1)


@pytest.mark.rule("S10")
def test_the_word_of_a_callback_alone_does_not_settle_an_unclear_cancellation(repeat, wire):
    wire.before["/cancel"] = lost
    assert repeat().status_code == 504
    Order.objects.update(status="CANCELLED", is_confirmed=False)
    assert error(repeat())[:2] == (409, "already_sent")
    assert outcome() == "UNCLEAR"


def test_an_unclear_reschedule_stays_unclear_and_says_what_to_do(repeat, box, wire, drain_all):
    wire.after["/reschedule"] = lost
    assert error(repeat("reschedule"))[:2] == (504, "outcome_unknown")
    with time_machine.travel(now() + OUTCOME_KNOWN):
        drain_all()
        again = repeat("reschedule")
    assert error(again)[:2] == (409, "already_sent")
    assert again.json()["message"] == (
        "This was sent before: it is not known whether it was done. The order does not show it for"
        " certain: read the order, and use another key to send it again."
    )
    assert (outcome(), len(calls(box, "PUT"))) == ("UNCLEAR", 1)
