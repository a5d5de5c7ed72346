"""Messages to other systems arrive, whatever their receivers do (Standard Webhooks 1.0.0)."""

import json
import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.core.management import call_command
from django.db import connection, connections, transaction
from django.urls import reverse
from django.utils import timezone

from crm_sync import hooks
from crm_sync.models import OutgoingMessage, Subscription, Workspace
from crm_sync.outgoing import outbox, retry_schedule, sending, signature, worker
from crm_sync.outgoing.outbox import Message
from crm_sync.outgoing.sending import fault
from crm_sync.tasks import clear_deliveries
from crm_sync.work import leases, turn
from tests.crm_sync.receivers import Receiver, receiving, subscribe
from tests.together import behind, crossing, on_postgresql, together

KIND = "property.in_sync"
KEY = "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
START = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def loopback_is_allowed(settings) -> None:
    settings.OUTGOING_INTERNAL_HOSTS = ["127.0.0.1"]


@pytest.fixture
def receiver():
    with receiving() as one:
        yield one


@pytest.fixture
def row(main: Workspace, receiver: Receiver) -> Subscription:
    return subscribe(main, receiver.url)


def say(workspace: Workspace, *names: str) -> None:
    now = timezone.now()
    messages = [Message(KIND, now, {"reference": name}) for name in names]
    assert outbox.tell(workspace.pk, messages, now=now)


def drain(workspace: Workspace, budget: float = 20.0) -> dict[str, int]:
    return turn.take(hooks.queue("outgoing"), workspace.pk, seconds=budget).counts


def states() -> list[tuple[str, int, int | None]]:
    rows = OutgoingMessage.objects.order_by("pk")
    return list(rows.values_list("state", "attempts", "status"))


def test_the_signature_is_that_of_the_specification():
    at = datetime.fromtimestamp(1614265330, tz=UTC)
    made = signature.headers("msg_p5jXN8AQM9LWM0D4loKWxJek", b'{"test": 2432232314}', [KEY], at=at)
    # The test vector that the libraries of the specification share.
    assert made == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_a_message_arrives_once_signed_and_as_it_was_written(main, row, receiver):
    say(main, "Müller 1")
    assert drain(main) == {"sent": 1}
    assert drain(main) == {}
    (line, headers, body) = receiver.came[0]
    (message,) = receiver.messages(row.secret)
    kept = OutgoingMessage.objects.get()
    assert (line, headers["content-type"]) == ("POST / HTTP/1.1", "application/json")
    assert receiver.ids == [kept.message_id]
    assert kept.message_id.startswith("msg_")
    assert "." not in kept.message_id
    assert body.decode() == kept.payload
    assert message["type"] == KIND
    assert message["data"] == {"workspace": main.slug, "reference": "Müller 1"}
    assert datetime.fromisoformat(message["timestamp"]).tzinfo == UTC
    assert states() == [("DELIVERED", 1, 204)]


def test_who_did_not_ask_for_a_kind_or_is_switched_off_gets_nothing(main, row, receiver):
    other = Workspace.objects.create(slug="other", base_url="https://x.test")
    subscribe(other, receiver.url)
    subscribe(main, receiver.url, "order.status_changed")
    subscribe(main, receiver.url, is_enabled=False)
    say(main, "A")
    assert list(OutgoingMessage.objects.values_list("subscription", flat=True)) == [row.pk]
    main.refresh_from_db()
    assert main.outgoing_kinds == sorted(one.name for one in hooks.plugged().message_kinds)


def test_what_is_rolled_back_is_never_told(main, row):
    with transaction.atomic():
        say(main, "A")
        transaction.set_rollback(True)
    assert states() == []


def test_while_a_secret_is_changed_both_sign_and_then_the_new_one_alone(main, row, receiver):
    old, new = row.secret, signature.new_secret()
    until = timezone.now() + timedelta(hours=1)
    Subscription.objects.update(secret=new, previous_secret=old, previous_secret_until=until)
    say(main, "A")
    drain(main)
    assert receiver.messages(old) == receiver.messages(new)
    assert len(receiver.came[0][1]["webhook-signature"].split(" ")) == 2
    receiver.forget()
    with time_machine.travel(until + timedelta(seconds=1)):
        say(main, "B")
        drain(main)
        assert len(receiver.messages(new)) == 1
    assert " " not in receiver.came[0][1]["webhook-signature"]


WRONG = {
    "500 Oops": "answered 500: it broke",
    "404 Nowhere": "answered 404: it broke",
    "302 Found": "answered 302: it redirects, and redirects are not followed: enter the new"
    " address",
}


@pytest.mark.parametrize("status", WRONG)
def test_what_is_not_taken_is_tried_again_by_the_schedule(main, row, receiver, status):
    receiver.status, receiver.body = status, b"it broke"
    receiver.headers = (f"Location: {receiver.url}/elsewhere",)
    with time_machine.travel(START, tick=False) as clock:
        say(main, "A")
        assert drain(main) == {"put off": 1}
        row.refresh_from_db()
        assert (row.problem, row.failing_since) == (WRONG[status], START)
        for attempts, delay in enumerate(retry_schedule.DELAYS[:3], 1):
            wait = OutgoingMessage.objects.get().due_at - timezone.now()
            assert (states()[0][1], delay <= wait <= delay * 1.2) == (attempts, True)
            clock.shift(wait + timedelta(hours=1))  # and the pause of the address is over
            assert drain(main) == {"put off": 1}
        receiver.status = "200 OK"
        clock.shift(timedelta(hours=3))
        assert drain(main) == {"sent": 1}
    row.refresh_from_db()
    assert (row.problem, row.failing_since, row.attempts) == ("", None, 0)
    assert states() == [("DELIVERED", 5, 200)]
    assert len(set(receiver.ids)) == 1  # the same id with each attempt


def test_three_days_of_failing_give_up_a_message_and_switch_the_address_off(main, row, receiver):
    receiver.status = "500 Oops"
    with time_machine.travel(START, tick=False) as clock:
        say(main, "A")
        for _ in range(20):
            drain(main)
            clock.shift(timedelta(hours=8))
            if not Subscription.objects.get().is_enabled:
                break
        assert timezone.now() - START >= retry_schedule.GIVE_UP_AFTER
    row.refresh_from_db()
    main.refresh_from_db()
    assert states()[0][0] == "GIVEN_UP"
    assert (row.is_enabled, main.outgoing_kinds) == (False, [])
    assert row.problem.startswith("No message was delivered for three days.")
    assert timedelta(days=3) < retry_schedule.GIVE_UP_AFTER < timedelta(days=3.5)


def test_410_ends_it_until_a_person_says_so_and_loses_nothing(main, row, receiver):
    receiver.status = "410 Gone"
    say(main, "A", "B")
    assert drain(main) == {"disabled": 1}
    assert drain(main) == {}
    row.refresh_from_db()
    assert not row.is_enabled
    assert "410 Gone" in row.problem
    receiver.status = "200 OK"
    Subscription.objects.update(is_enabled=True, attempts=0)
    assert drain(main) == {"sent": 1}
    assert [state for state, _, _ in states()] == ["DELIVERED"] * 2


def test_who_asks_to_be_left_alone_is_for_an_hour_at_most(main, row, receiver):
    receiver.status, receiver.headers = "429 Slow down", ("Retry-After: 900",)
    with time_machine.travel(START, tick=False):
        say(main, "A")
        drain(main)
        row.refresh_from_db()
        assert row.due_at == START + timedelta(seconds=900)
    soon = "Thu, 01 Jan 2026 12:00:30 GMT"
    said = ("7200", soon, "", "-1", "Wed, 21 Oct", "²")
    at = datetime(2026, 1, 1, 12, tzinfo=UTC)
    found = [retry_schedule.retry_after({"Retry-After": one}, now=at) for one in said]
    assert found == [timedelta(hours=1), timedelta(seconds=30), *(4 * [timedelta()])]


def test_an_answer_that_never_ends_or_never_comes_costs_a_bounded_time(
    main, row, receiver, settings
):
    settings.CALL_DEADLINE = 0.3
    receiver.status, receiver.body = "500 Oops", b"x" * 20_000_000
    say(main, "A")
    assert drain(main) == {"put off": 1}
    assert len(OutgoingMessage.objects.get().answer) == 1000
    receiver.hangs = threading.Event()
    with time_machine.travel(timezone.now() + timedelta(hours=1)):
        assert drain(main) == {"put off": 1}
    receiver.hangs.set()
    assert (OutgoingMessage.objects.get().status, states()[0][1]) == (None, 2)
    assert "in time" in OutgoingMessage.objects.get().answer


def test_one_message_that_is_never_taken_holds_up_no_other(main, row, receiver):
    receiver.refused = "poison"
    say(main, *(f"A-{n}" for n in range(20)), "poison", *(f"B-{n}" for n in range(20)))
    assert drain(main) == {"sent": 1}
    assert [state for state, _, _ in states()].count("DELIVERED") == 40
    row.refresh_from_db()
    assert (row.attempts, row.failing_since) == (0, None)


def test_an_outage_of_a_day_with_a_long_backlog_loses_nothing(main, row, receiver):
    receiver.status = "503 Away"
    with time_machine.travel(START, tick=False) as clock:
        say(main, *(f"A-{n}" for n in range(500)))
        for _ in range(24):
            drain(main)
            clock.shift(timedelta(hours=1))
        # One message each time is enough to learn that it is still away.
        assert len(receiver.came) <= 8 + 24
        receiver.status = "200 OK"
        receiver.forget()
        assert drain(main) == {"sent": 1}
    assert len(set(receiver.ids)) == 500
    assert {state for state, _, _ in states()} == {"DELIVERED"}


def test_a_worker_killed_before_it_wrote_sends_the_same_again_with_the_same_id(main, row, receiver):
    say(main, "A")
    # As after `kill -9`: claimed, sent, and nothing written.
    assert leases.claim(worker.rows(timezone.now()), now=timezone.now()) is not None
    message = OutgoingMessage.objects.get()
    sender = sending.Receiver(receiver.url, [row.secret])
    assert sender.send(message.message_id, message.payload, at=timezone.now()).is_delivered
    assert drain(main) == {}  # its lease still holds
    with time_machine.travel(timezone.now() + timedelta(minutes=5)):
        assert drain(main) == {"sent": 1}
    assert len(receiver.ids) == 2
    assert len(set(receiver.ids)) == 1


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("https://127.0.0.1:1/", "the address leads into our own network: 127.0.0.1"),
        ("https://[::1]/", "the address leads into our own network: ::1"),
        ("http://example.com/", "the address is not encrypted: it does not begin with https://"),
    ],
)
def test_our_own_network_and_plain_http_are_not_told(main, settings, address, text):
    settings.OUTGOING_INTERNAL_HOSTS = []
    subscribe(main, address)
    say(main, "A")
    assert drain(main) == {"put off": 1}
    assert OutgoingMessage.objects.get().answer == text


def test_an_address_is_checked_when_it_is_entered(settings):
    settings.OUTGOING_INTERNAL_HOSTS = ["127.0.0.1"]
    assert fault("https://crm.example.com/hook?key=1") == fault("http://127.0.0.1:8000/") == ""
    assert fault("http://crm.example.com/").startswith("the address is not encrypted")
    assert "user" in fault("https://user:word@crm.example.com/")
    assert fault("ftp://crm.example.com/")
    assert fault("nonsense")


def test_no_secret_stands_in_an_answer_that_is_kept_nor_in_a_log_nor_a_dump(
    main, row, receiver, caplog, tmp_path
):
    key = "canary-key-in-the-query"
    Subscription.objects.update(address=f"{receiver.url}/?key={key}")
    raw = row.secret.removeprefix("whsec_")
    receiver.status, receiver.body = "500 Oops", f"{row.secret} {raw} key={key}".encode()
    with caplog.at_level(logging.INFO):
        say(main, "A")
        drain(main)
    call_command("dumpdata", "crm_sync.subscription", output=str(tmp_path / "dump.json"))
    row.refresh_from_db()
    kept = OutgoingMessage.objects.get()
    told = caplog.text + kept.answer + row.problem
    assert (raw in told, key in told) == (False, False)
    assert "***" in kept.answer
    assert raw not in (tmp_path / "dump.json").read_text()


@pytest.mark.rule("S5")
def test_a_key_in_the_path_of_the_address_stands_in_no_answer_that_is_kept(main, row, receiver):
    key = "k9x2mq7w"
    Subscription.objects.update(address=f"{receiver.url}/hooks/{key}")
    receiver.status, receiver.body = "404 Not Found", f"no hook {key}".encode()
    say(main, "A")
    drain(main)
    row.refresh_from_db()
    assert key not in OutgoingMessage.objects.get().answer + row.problem
    assert "no hook" in row.problem


def test_a_secret_that_cannot_be_read_stops_its_own_address_alone(main, row, receiver):
    with receiving() as other:
        mine = subscribe(main, other.url)
        with connection.cursor() as cursor:
            cursor.execute("UPDATE crm_sync_subscription SET secret = 'x' WHERE id = %s", [mine.pk])
        say(main, "A")
        assert drain(main) == {"sent": 1, "put off": 1}
        assert other.came == []
    broken = Subscription.objects.defer("secret", "previous_secret").get(pk=mine.pk)
    assert "SECRET_KEYS_AT_REST" in broken.problem


def test_what_has_ended_goes_when_its_time_is_over(main, row, receiver, settings):
    now = timezone.now()
    say(main, "A", "B", "C")
    old = now - timedelta(days=31)
    names = dict(zip("ABC", OutgoingMessage.objects.order_by("pk"), strict=True))
    ended = {"state": "DELIVERED", "due_at": None}
    OutgoingMessage.objects.filter(pk=names["A"].pk).update(created_at=old, **ended)
    OutgoingMessage.objects.filter(pk=names["B"].pk).update(created_at=now, **ended)
    OutgoingMessage.objects.filter(pk=names["C"].pk).update(created_at=old)  # still pending
    settings.KEEP_DAYS = settings.KEEP_DAYS | {"messages": 0}
    assert clear_deliveries() == {}
    settings.KEEP_DAYS = settings.KEEP_DAYS | {"messages": 30}
    assert clear_deliveries() == {"outgoing messages": 1}
    assert set(OutgoingMessage.objects.values_list("pk", flat=True)) == {
        names["B"].pk,
        names["C"].pk,
    }


def test_a_message_that_is_sent_again_just_then_is_not_removed(main, row, receiver):
    say(main, "A")
    ended = {"state": "DELIVERED", "due_at": None}
    OutgoingMessage.objects.update(created_at=timezone.now() - timedelta(days=31), **ended)

    def send_again(execute, sql, *rest):
        if sql.startswith("DELETE"):
            OutgoingMessage.objects.update(state="PENDING", due_at=timezone.now())
        return execute(sql, *rest)

    with connection.execute_wrapper(send_again):
        assert clear_deliveries() == {}
    assert OutgoingMessage.objects.get().state == "PENDING"


def test_a_test_message_goes_to_who_asked_whatever_kinds_they_want(main, receiver):
    row = subscribe(main, receiver.url, "order.status_changed")
    outbox.test(row, now=timezone.now())
    drain(main)
    (message,) = receiver.messages(row.secret)
    assert (message["type"], message["data"]["workspace"]) == ("test", main.slug)
    assert json.loads(receiver.came[0][2])["data"]["text"]


@pytest.mark.django_db(transaction=True)
def test_a_backlog_of_five_thousand_beside_an_address_that_hangs_reaches_its_neighbour(
    main, settings, receiver
):
    settings.CALL_DEADLINE = 2.0
    with receiving() as hanging:
        hanging.hangs = threading.Event()
        subscribe(main, hanging.url)
        say(main, *(f"H-{n}" for n in range(5000)))
        mine = subscribe(main, receiver.url)
        say(main, *(f"N-{n}" for n in range(100)))
        queue = hooks.queue("outgoing")
        tallies = together(lambda: turn.take(queue, main.pk, seconds=10.0), workers=2)
        hanging.hangs.set()
    assert sum(one.counts.get("sent", 0) for one in tallies) >= 1
    assert len(set(receiver.ids)) == 100
    pending = OutgoingMessage.objects.filter(state="PENDING")
    assert pending.filter(subscription=mine).count() == 0
    assert pending.count() == 5100


@pytest.mark.django_db(transaction=True)
def test_send_again_while_a_message_is_sent_is_not_lost(main, boss, receiver, row):
    long_ago = timezone.now() - timedelta(days=30)
    say(main, "A-1")
    OutgoingMessage.objects.update(first_tried_at=long_ago, attempts=9)
    receiver.status, receiver.hangs = "500 Oops", threading.Event()
    page = reverse("admin:crm_sync_outgoingmessage_changelist")
    act = {"action": "send_again", "_selected_action": OutgoingMessage.objects.get().pk}

    def send_again() -> None:
        while not receiver.came:
            time.sleep(0.01)
        boss.post(page, act)
        connections.close_all()
        receiver.hangs.set()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(send_again)
        drain(main)
    assert states() == [("PENDING", 1, 500)]  # tried once more, as the first time


@pytest.mark.django_db(transaction=True)
def test_send_again_of_many_and_their_delivery_meet_and_neither_fails(main, boss, receiver, row):
    say(main, *"ABCDEF")
    keys = list(OutgoingMessage.objects.order_by("pk").values_list("pk", flat=True))
    for number, key in enumerate(keys):  # the last one has been due for longest
        due_at = timezone.now() - timedelta(minutes=number)
        OutgoingMessage.objects.filter(pk=key).update(due_at=due_at)
    page = reverse("admin:crm_sync_outgoingmessage_changelist")
    act = {"action": "send_again", "_selected_action": keys}
    third = OutgoingMessage.objects.filter(pk=keys[2])
    found, answer = behind(lambda: drain(main), lambda: boss.post(page, act), locked=third)
    assert (found.keys(), answer.status_code) == ({"sent"}, 302)


@on_postgresql
@pytest.mark.django_db(transaction=True)
def test_an_address_that_is_back_and_a_person_who_sends_again_meet_and_neither_fails(
    main, row, receiver, boss
):
    say(main, *(str(number) for number in range(6)))
    pks = list(OutgoingMessage.objects.order_by("pk").values_list("pk", flat=True))
    later = timezone.now() + timedelta(minutes=30)
    OutgoingMessage.objects.exclude(pk=pks[-1]).update(due_at=later)  # one is tried first
    since = timezone.now() - timedelta(hours=1)
    Subscription.objects.update(failing_since=since, attempts=3)
    act = {"action": "send_again", "_selected_action": pks}
    page = reverse("admin:crm_sync_outgoingmessage_changelist")
    done, answer = crossing(
        lambda: drain(main),
        lambda: boss.post(page, act),
        at='UPDATE "crm_sync_outgoingmessage" SET "due_at"',
    )
    assert (done, answer.status_code) == ({"sent": 1}, 302)
    drain(main)
    assert {state for state, *_ in states()} == {"DELIVERED"}


@pytest.mark.django_db(transaction=True)
def test_a_subscription_that_is_disabled_while_it_sends_gets_no_further_message(
    main, row, receiver
):
    say(main, *(str(number) for number in range(worker.AT_ONCE + 1)))
    receiver.hangs = threading.Event()

    def disable() -> None:
        while not receiver.came:
            time.sleep(0.01)
        Subscription.objects.update(is_enabled=False)
        connections.close_all()
        receiver.hangs.set()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(disable)
        drain(main)
    assert len(receiver.came) == worker.AT_ONCE
