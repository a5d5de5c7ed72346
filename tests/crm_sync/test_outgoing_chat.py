"""Many changes are a handful of messages in Slack and Teams, and none of them comes twice."""

import json
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.core.exceptions import ValidationError
from django.utils import timezone

from crm_sync import hooks
from crm_sync.models import MessageFormat, OutgoingMessage, Subscription, Workspace
from crm_sync.outgoing import groups, outbox, sending, worker
from crm_sync.outgoing.outbox import Message
from crm_sync.work import leases, turn
from tests.crm_sync.receivers import Receiver, receiving, subscribe
from tests.together import together

KIND = "property.in_sync"
START = datetime(2026, 3, 1, 12, tzinfo=UTC)
CHATS = pytest.mark.parametrize("format_", ["SLACK", "TEAMS"])


@pytest.fixture(autouse=True)
def loopback_is_allowed(settings) -> None:
    settings.OUTGOING_INTERNAL_HOSTS = ["127.0.0.1"]
    settings.PUBLIC_BASE_URL = "https://crm.example.com"


@pytest.fixture
def receiver():
    with receiving() as one:
        yield one


def say(workspace: Workspace, count: int, first: int = 0) -> None:
    now = timezone.now()
    data = {"platformId": None, "revision": 1, "state": "IN_SYNC", "problems": []}
    messages = [
        Message(KIND, now, {"reference": f"MH-{n}", **data}) for n in range(first, first + count)
    ]
    assert outbox.tell(workspace.pk, messages, now=now)


def drain(workspace: Workspace) -> dict[str, int]:
    return turn.take(hooks.queue("outgoing"), workspace.pk, seconds=20.0).counts


def lines(receiver: Receiver) -> list[list[str]]:
    """The lines of each message that came."""
    found = []
    for _, _, body in receiver.came:
        document = json.loads(body)
        if "blocks" in document:
            found.append([one["text"]["text"] for one in document["blocks"]])
        else:
            blocks = document["attachments"][0]["content"]["body"]
            found.append(["".join(run["text"] for run in one["inlines"]) for one in blocks])
    return found


def delivered() -> tuple[int, int]:
    rows = OutgoingMessage.objects
    return rows.filter(state="DELIVERED").count(), rows.filter(state="PENDING").count()


@CHATS
@pytest.mark.parametrize("count", [1_000, 10_000])
def test_thousands_of_changes_are_one_message_of_ten_lines(main, receiver, format_, count):
    subscribe(main, receiver.url, format=format_)
    say(main, count)
    assert drain(main) == {"sent": 1}
    assert drain(main) == {}
    (message,) = lines(receiver)
    assert len(message) == 11
    assert message[0].startswith("MH-0: In sync · ")
    assert message[-1] == f"and {count - 10:,} more"
    assert delivered() == (count, 0)


def test_a_thousand_changes_that_come_one_by_one_are_a_handful_of_messages(main, receiver):
    subscribe(main, receiver.url, format="SLACK")
    with time_machine.travel(START, tick=False) as clock:
        for number in range(1_000):  # one a second, as an import pushes them
            say(main, 1, number)
            drain(main)
            clock.shift(1)
        clock.shift(groups.EVERY)
        drain(main)
    assert [len(one) for one in lines(receiver)] == [1, 11, 11, 11, 11]
    assert delivered() == (1_000, 0)


def test_two_changes_are_two_lines_and_the_next_waits_five_minutes(main, receiver):
    row = subscribe(main, receiver.url, format="SLACK")
    with time_machine.travel(START, tick=False) as clock:
        say(main, 2)
        assert drain(main) == {"sent": 1}
        say(main, 1, 2)
        assert drain(main) == {}
        row.refresh_from_db()
        assert row.due_at == START + groups.EVERY
        clock.shift(groups.EVERY)
        assert drain(main) == {"sent": 1}
    assert [[one[:4] for one in each] for each in lines(receiver)] == [["MH-0", "MH-1"], ["MH-2"]]


def test_only_json_is_signed(main, receiver):
    for format_ in MessageFormat.values:
        subscribe(main, receiver.url, format=format_)
    say(main, 1)
    drain(main)
    names = [set(headers) & {"webhook-id", "webhook-signature"} for _, headers, _ in receiver.came]
    assert sorted(names, key=len) == [{"webhook-id"}] * 2 + [{"webhook-id", "webhook-signature"}]
    assert {headers["content-type"] for _, headers, _ in receiver.came} == {"application/json"}


def test_the_line_follows_the_template_and_is_in_the_language_of_the_subscription(main, receiver):
    subscribe(
        main,
        receiver.url,
        format="SLACK",
        language="de",
        template="{workspace} {reference}? {link}",
    )
    row = subscribe(main, receiver.url, format="SLACK", language="fr")
    outbox.test(row, now=timezone.now())
    say(main, 12)
    drain(main)
    link = "<https://crm.example.com/admin/crm_sync/outgoingmessage/|Ouvrir>"
    german, french = sorted(lines(receiver), key=lambda one: link in one[0])
    assert (german[0], german[-1]) == (f"{main.slug} MH-0? ", "und 2 weitere")
    assert french[0] == f"{main.slug}: Un message de test · {link}"
    assert french[-1] == "et 3 de plus"


def test_a_busy_receiver_is_left_alone_and_then_gets_the_same_changes_with_the_same_id(
    main, receiver
):
    row = subscribe(main, receiver.url, format="SLACK")
    receiver.status, receiver.headers = "429 Slow down", ("Retry-After: 900",)
    with time_machine.travel(START, tick=False) as clock:
        say(main, 30)
        assert drain(main) == {"put off": 1}
        row.refresh_from_db()
        assert row.due_at == START + timedelta(seconds=900)
        say(main, 5, 30)  # not in the message that is tried again
        receiver.status, receiver.headers = "200 OK", ()
        clock.shift(901)
        assert drain(main) == {"sent": 1}
        assert delivered() == (30, 5)
        clock.shift(groups.EVERY)
        assert drain(main) == {"sent": 1}
    (first, again, later) = receiver.came
    assert first[2] == again[2] != later[2]
    assert len(set(receiver.ids)) == 2


def test_after_a_kill_between_send_and_settle_the_same_message_goes_with_the_same_id(
    main, receiver
):
    row = subscribe(main, receiver.url, format="TEAMS")
    say(main, 20)
    # As after `kill -9`: claimed, recorded, sent, and nothing settled.
    assert leases.claim(worker.rows(timezone.now()), now=timezone.now()) is not None
    group = groups.next_group(row.pk, now=timezone.now())
    assert group is not None
    sender = sending.Receiver(receiver.url, [], is_chat=True)
    text = groups.body(row, group)
    assert sender.send(group.key, text, at=timezone.now()).is_delivered
    say(main, 4, 20)
    assert drain(main) == {}  # its lease still holds
    with time_machine.travel(timezone.now() + timedelta(minutes=5)):
        assert drain(main) == {"sent": 1}
    (_, _, before), (_, _, after) = receiver.came
    assert (before, len(set(receiver.ids))) == (after, 1)
    assert delivered() == (20, 4)


@pytest.mark.django_db(transaction=True)
def test_two_workers_send_a_thousand_changes_in_one_message(main, receiver):
    subscribe(main, receiver.url, format="SLACK")
    say(main, 1_000)
    queue = hooks.queue("outgoing")
    together(lambda: turn.take(queue, main.pk, seconds=5.0), workers=4)
    assert [one[-1] for one in lines(receiver)] == ["and 990 more"]
    assert delivered() == (1_000, 0)


def test_a_lost_lease_sends_nothing(main, receiver):
    row = subscribe(main, receiver.url, format="SLACK")
    say(main, 3)
    claim = leases.claim(worker.rows(timezone.now()), now=timezone.now())
    assert claim is not None
    Subscription.objects.filter(pk=row.pk).update(lease_token=None, lease_until=None)
    with pytest.raises(leases.LeaseLost):
        worker.work([claim], None)
    assert receiver.came == []


def test_the_path_of_the_address_is_a_secret_and_stands_in_no_answer(main, receiver):
    key = "T0CANARY/B0CANARY/XXXXCANARYXXXX"
    row = subscribe(main, f"{receiver.url}/services/{key}", format="SLACK")
    receiver.status, receiver.body = "404 Not Found", f"no_service {key}".encode()
    say(main, 1)
    drain(main)
    row.refresh_from_db()
    assert "CANARY" not in row.problem + OutgoingMessage.objects.get().answer
    assert "no_service" in row.problem


def test_a_message_to_a_chat_may_not_go_into_our_own_network_either(main, settings):
    settings.OUTGOING_INTERNAL_HOSTS = []
    subscribe(main, "https://127.0.0.1:1/", format="TEAMS")
    say(main, 2)
    assert drain(main) == {"put off": 1}
    answers = set(OutgoingMessage.objects.values_list("answer", flat=True))
    assert answers == {"the address leads into our own network: 127.0.0.1"}


def test_the_database_knows_the_formats(main):
    with pytest.raises(ValidationError):
        Subscription(workspace=main, address="https://x.test", format="XML").full_clean()
