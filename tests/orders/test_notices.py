"""The mails that tell people what happened: to whom, about what, how often, and never lost."""

import smtplib
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
import time_machine
from django.contrib.auth.models import Permission, User
from django.core import mail
from django.core.mail.backends import locmem
from django.db import connections
from django.test.utils import CaptureQueriesContext
from django.utils import timezone, translation

from crm_sync import hooks
from crm_sync.models import Workspace
from crm_sync.observing import health
from crm_sync.work import turn
from orders.models import (
    ChangeRequest,
    Order,
    PersonSettings,
    Placement,
    PlatformUser,
    StatusChange as Change,
)
from orders.models.news import News, news_of
from orders.people import mail_queue
from orders.people.happenings import Happening
from orders.people.news_mail import written
from orders.people.preferences import choose
from properties.models import Property
from tests.crm_sync.admin_pages import make_workspace
from tests.orders.admin_rows import make_assignment, make_order
from tests.together import together
from tests.wsgi import refuse_in_a_transaction

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
WAY = "tests.orders.test_notices.{}".format
ORDER_CANCELLED = ("ORDER_STATUS", "CANCELLED")


def now() -> datetime:
    return timezone.now()


def agent(name: str = "agent", *, kinds=tuple(News), only_mine: bool = False, **columns) -> User:
    """Return somebody who wants mail since an hour ago, and may see orders and placements."""
    known = {"email": f"{name}@example.com", "is_staff": True}
    person = User.objects.create(username=name, **(known | columns))
    for codename in ("view_order", "view_placement", "all_workspaces"):
        person.user_permissions.add(Permission.objects.get(codename=codename))
    choose(person, kinds=kinds, only_mine=only_mine, time_zone="", language="", now=now() - HOUR)
    return person


def happens(order: Order, fact: str, new: str, *, ago: timedelta = 5 * MINUTE, **columns) -> Change:
    at = now() - ago
    return Change.objects.create(
        **{"order": order, "fact": fact, "new": new, "news": news_of(fact, "", new)},
        **{"occurred_at": at, "created_at": at, "source": "CALLBACK"},
        **({"digest": f"{Change.objects.count():064}"} | columns),
    )


def cancelled(order: Order, *, ago: timedelta = 5 * MINUTE) -> Change:
    return happens(order, *ORDER_CANCELLED, ago=ago)


def drain() -> dict[str, int]:
    first = Workspace.objects.order_by("pk")[0]
    return turn.take(hooks.queue("notices"), first.pk, seconds=200.0).counts


def pass_by(time: timedelta) -> None:
    """Let time go by, for what these tests look at."""
    for row in PersonSettings.objects.all():
        for column in ("due_at", "told_until", "telling_until", "lease_until", "mailed_at"):
            if moment := getattr(row, column):
                PersonSettings.objects.filter(pk=row.pk).update(**{column: moment - time})
    for change in Change.objects.all():
        Change.objects.filter(pk=change.pk).update(created_at=change.created_at - time)


def sent() -> list[tuple[list[str], str]]:
    """Return the addresses and subject of each mail."""
    return [(one.to, one.subject) for one in mail.outbox]


class Down(locmem.EmailBackend):
    """A mail server that is away."""

    def send_messages(self, messages):
        raise ConnectionRefusedError("the mail server is away")


class Refusing(locmem.EmailBackend):
    """A mail server that knows no such address."""

    def send_messages(self, messages):
        raise smtplib.SMTPRecipientsRefused({"agent@example.com": (550, b"no such user")})


class Dying(locmem.EmailBackend):
    """The process ends when the mail has gone out."""

    def send_messages(self, messages):
        super().send_messages(messages)
        raise SystemExit


class Outside(locmem.EmailBackend):
    """Refuses to send within a transaction of ours."""

    def send_messages(self, messages):
        refuse_in_a_transaction("a mail")
        return super().send_messages(messages)


# --- what a mail says ---
def test_a_mail_says_what_and_how_many_and_leads_to_each(main, settings):
    settings.PUBLIC_BASE_URL = "https://crm.example.com"
    agent()
    home = Property.objects.create(
        workspace=main, object_reference_id="R-1", desired={"title": "Lake\nview"}
    )
    order = make_order(main, "5001", object_reference_id="R-1", real_estate_property=home)
    waits = make_assignment(order, "a", status="ACTION_REQUIRED")
    happens(order, "ASSIGNMENT_STATUS", "ACTION_REQUIRED", assignment=waits)
    others = [make_order(main, f"{n}") for n in (1, 2)]
    for one in others:
        cancelled(one)
    placement = Placement.objects.create(
        workspace=main, object_reference_id="R-2", state="UNCERTAIN", uncertain_at=now() - HOUR / 2
    )
    assert drain() == {"sent": 1}
    (message,) = mail.outbox
    assert message.subject == "Orders: 1 is uncertain, 1 needs action, 2 were cancelled"
    admin = "https://crm.example.com/admin/orders"
    lines = message.body.splitlines()
    assert [line for line in lines if "http" in line] == [
        f"  {admin}/placement/{placement.pk}/change/",
        f"  {admin}/order/{order.pk}/change/",
        *(f"  {admin}/order/{one.pk}/change/" for one in reversed(others)),
        f"You chose this mail: {admin}/personsettings/mine/",
    ]
    named = [line.partition(",")[0] for line in lines if line.startswith("- ")]
    assert named == ["- R-2", "- Lake view (R-1)", "- Order 2", "- Order 1"]
    assert message.extra_headers["Auto-Submitted"] == "auto-generated"


def test_what_became_of_one_order_several_times_is_one_line(main):
    agent()
    order = make_order(main)
    for name in ("a", "b"):
        assignment = make_assignment(order, name, status="DELIVERED")
        happens(order, "ASSIGNMENT_STATUS", "DELIVERED", assignment=assignment)
    happens(order, "ORDER_STATUS", "COMPLETED")
    drain()
    assert [subject for _, subject in sent()] == ["Orders: 1 was delivered"]


def test_of_very_many_the_first_fifty_are_named_and_the_others_counted(main):
    agent()
    for n in range(362):
        cancelled(make_order(main, f"{n}"))
    with CaptureQueriesContext(connections["default"]) as captured:
        assert drain() == {"sent": 1}
    assert len(captured) < 40
    body = mail.outbox[0].body
    assert body.count("\n- Order ") == 50
    assert "\nand 312 more: http" in body
    assert [subject for _, subject in sent()] == ["Orders: 362 were cancelled"]


@pytest.mark.parametrize(
    ("language", "subject", "more"),
    [
        ("en", "Orders: 1,234 were delivered", "and 1,184 more: http"),
        ("de-ch", "Aufträge: 1'234 wurden geliefert", "und 1'184 weitere: http"),
        ("it", "Ordini: 1.234 sono stati consegnati", "e altri 1.184: http"),
    ],
)
def test_a_mail_writes_large_numbers_as_its_language_does(language, subject, more):
    found = [Happening(News.DELIVERED, now(), "orders.order", 1, "1", "", "")] * 50
    numbers = {News.DELIVERED: 1234}
    with translation.override(language):
        made = written(found, numbers, to="a@example.com", since=now(), zone=ZoneInfo("UTC"))
    assert (made.subject, more in made.body) == (subject, True)


# --- to whom ---
@pytest.mark.parametrize(
    "columns",
    [{"is_active": False}, {"is_staff": False}, {"email": ""}, {"kinds": ()}],
    ids=["inactive", "no staff", "no address", "switched off"],
)
def test_who_is_switched_off_or_has_no_address_gets_nothing(main, columns):
    agent(**columns)
    cancelled(make_order(main))
    drain()
    assert sent() == []
    assert turn.waiting(now()) == []


def test_who_may_see_no_orders_any_more_gets_nothing(main):
    person = agent()
    person.user_permissions.clear()
    cancelled(make_order(main))
    Placement.objects.create(workspace=main, state="UNCERTAIN", uncertain_at=now() - HOUR / 2)
    assert drain() == {"no news": 1}
    assert sent() == []


def test_each_is_told_only_what_they_chose(main):
    agent("one", kinds=[News.DELIVERED])
    agent("two", kinds=[News.CANCELLED])
    cancelled(make_order(main))
    drain()
    assert sent() == [(["two@example.com"], "Orders: 1 was cancelled")]


def test_mine_is_what_i_placed_and_what_a_user_tied_to_me_ordered(main):
    me, other = agent("me", only_mine=True), agent("other", only_mine=True)
    orders = {name: make_order(main, name) for name in ("placed", "theirs", "nobody's")}
    Placement.objects.create(
        workspace=main, order=orders["placed"], state="PLACED", confirmed_by=me
    )
    Placement.objects.create(
        workspace=main, order=orders["theirs"], state="PLACED", created_by=other
    )
    PlatformUser.objects.create(workspace=main, platform_id="7", account=me)
    orders["tied"] = make_order(main, "tied", user_platform_id="7")
    for order in orders.values():
        cancelled(order)
    unsure = {"state": "UNCERTAIN", "uncertain_at": now() - HOUR / 2}
    Placement.objects.create(workspace=main, created_by=me, **unsure)
    Placement.objects.create(workspace=main, created_by=other, **unsure)
    Placement.objects.create(workspace=main, user_platform_id="7", **unsure)
    ChangeRequest.objects.create(
        **{"order": orders["nobody's"], "kind": "CANCEL", "outcome": "UNCLEAR", "asked_by": me},
        **{"token": main.uuid, "sent_at": now() - HOUR / 2, "ended_at": now() - HOUR / 2},
    )
    drain()
    assert sorted(sent()) == [
        (["me@example.com"], "Orders: 3 are uncertain, 2 were cancelled"),
        (["other@example.com"], "Orders: 1 is uncertain, 1 was cancelled"),
    ]


def test_what_needs_action_no_more_is_told_no_more(main):
    agent()
    order = make_order(main)
    done = make_assignment(order, status="CREATED")
    happens(order, "ASSIGNMENT_STATUS", "ACTION_REQUIRED", assignment=done)
    over = make_order(main, "over", status="CANCELLED")
    waits = make_assignment(over, "b", status="ACTION_REQUIRED")
    happens(over, "ASSIGNMENT_STATUS", "ACTION_REQUIRED", assignment=waits)
    assert drain() == {"no news": 1}


def test_a_repeated_status_and_one_that_came_too_late_are_no_news():
    assert news_of("ASSIGNMENT_STATUS", "DELIVERED", "DELIVERED") is None
    assert news_of("APPOINTMENT", "", "CANCELLED") is None
    assert news_of("ASSIGNMENT_STATUS", "IN_PRODUCTION", "DELIVERED") is News.DELIVERED


# --- how often ---
@pytest.mark.rule("I33")
def test_no_second_mail_goes_within_a_quarter_of_an_hour_and_then_one_with_all(main):
    agent()
    cancelled(make_order(main, "1"))
    assert drain() == {"sent": 1}
    for name in ("2", "3"):
        cancelled(make_order(main, name), ago=timedelta(0))
    pass_by(14 * MINUTE)
    assert (drain(), turn.waiting(now())) == ({}, [])
    pass_by(MINUTE)
    assert drain() == {"sent": 1}
    assert [subject for _, subject in sent()] == [
        "Orders: 1 was cancelled",
        "Orders: 2 were cancelled",
    ]
    pass_by(HOUR)
    assert (drain(), len(mail.outbox)) == ({}, 2)


def test_while_nothing_happens_nobody_is_looked_at(main):
    agent()
    assert turn.waiting(now() + HOUR) == []


def test_what_was_before_their_choice_is_no_news(main):
    agent()
    cancelled(make_order(main), ago=2 * HOUR)
    assert drain() == {}


def test_what_is_nothing_for_them_is_looked_at_once(main):
    agent(only_mine=True)
    cancelled(make_order(main))
    assert drain() == {"no news": 1}
    pass_by(HOUR)
    assert drain() == {}


def test_many_people_get_one_mail_each_with_as_many_queries_for_each(main):
    for n in range(20):
        cancelled(make_order(main, f"{n}"))

    def queries(people: int) -> int:
        mail.outbox.clear()
        for n in range(people):
            agent(f"{people}-{n}")
        with CaptureQueriesContext(connections["default"]) as captured:
            assert drain() == {"sent": people}
        assert len({one.to[0] for one in mail.outbox}) == len(mail.outbox) == people
        return len(captured)

    few, many = queries(2), queries(12)
    assert (many - few) / 10 < 20


# --- nothing is lost ---
@pytest.mark.rule("I33")
def test_what_is_committed_late_is_told_later_and_once(main):
    """Its moment is before the first mail, its commit after it."""
    agent()
    cancelled(make_order(main, "1"), ago=5 * MINUTE)
    begun = make_order(main, "2")
    assert drain() == {"sent": 1}
    cancelled(begun, ago=MINUTE)  # its transaction began a minute ago
    pass_by(HOUR)
    assert drain() == {"sent": 1}
    assert "Order 2" in mail.outbox[1].body
    assert "Order 1" not in mail.outbox[1].body


def test_what_just_happened_waits_until_no_transaction_can_be_before_it(main):
    agent()
    cancelled(make_order(main), ago=mail_queue.SETTLES - 10 * timedelta(seconds=1))
    assert drain() == {}
    pass_by(10 * timedelta(seconds=1))
    assert drain() == {"sent": 1}


def test_a_mail_server_that_is_down_loses_nothing_and_sends_no_pile_afterwards(
    main, settings, boss
):
    agent()
    settings.EMAIL_BACKEND = WAY("Down")
    for n in range(4):
        cancelled(make_order(main, f"{n}"))
        assert drain() == {"put off": 1}
        row = PersonSettings.objects.get()
        assert (row.problem, row.attempts) == ("the mail server is away", n + 1)
        assert now() < row.due_at <= now() + 15 * MINUTE
        pass_by(15 * MINUTE)
    lines = [line.text for line in boss.get("/admin/").context["attention"]]
    assert "1 person waits for mail: the mail server is away" in lines
    settings.EMAIL_BACKEND = WAY("Outside")
    assert drain() == {"sent": 1}
    assert [subject for _, subject in sent()] == ["Orders: 4 were cancelled"]
    row = PersonSettings.objects.get()
    assert (row.problem, row.attempts, row.telling_until) == ("", 0, None)
    pass_by(HOUR)
    assert drain() == {}


def test_an_address_that_is_refused_says_so_and_holds_up_nobody(main, settings):
    agent()
    settings.EMAIL_BACKEND = WAY("Refusing")
    cancelled(make_order(main))
    assert drain() == {"put off": 1}
    assert "no such user" in PersonSettings.objects.get().problem


def test_an_address_that_no_header_can_hold_says_so_and_is_tried_less_and_less_often(main):
    agent(email="agent@ü..example")
    cancelled(make_order(main))
    assert drain() == {"put off": 1}
    row = PersonSettings.objects.get()
    assert "UnicodeError" in row.problem
    assert (row.attempts, row.telling_until) == (1, None)


def test_a_worker_that_dies_between_sending_and_the_watermark_sends_the_same_again(main, settings):
    agent()
    cancelled(make_order(main, "1"))
    settings.EMAIL_BACKEND = WAY("Dying")
    with pytest.raises(SystemExit):
        drain()
    settings.EMAIL_BACKEND = WAY("Outside")
    assert drain() == {}  # its lease is not over
    cancelled(make_order(main, "2"), ago=timedelta(0))
    with time_machine.travel(now() + 3 * MINUTE):  # its lease is over, and the news is old enough
        assert drain() == {"sent": 1}
    first, second = mail.outbox
    assert first.body == second.body
    assert first.extra_headers["Message-ID"] == second.extra_headers["Message-ID"]
    pass_by(18 * MINUTE)
    assert drain() == {"sent": 1}
    third = mail.outbox[2]
    assert "Order 2" in third.body
    assert third.extra_headers["Message-ID"] != first.extra_headers["Message-ID"]


def test_several_workers_send_one_mail(main, transactional_db):
    agent()
    cancelled(make_order(main))
    tallies = together(drain)
    assert sum(counts.get("sent", 0) for counts in tallies) == len(mail.outbox) == 1


def test_who_switches_off_while_their_mail_goes_out_stays_off(main, settings):
    person = agent()
    cancelled(make_order(main))
    settings.EMAIL_BACKEND = WAY("Switching")
    assert drain() == {"sent": 1}
    row = PersonSettings.objects.get(person=person)
    assert (row.due_at, row.told_until, row.lease_token) == (None, None, None)


@pytest.mark.rule("I33")
@pytest.mark.parametrize("way", ["Outside", "SwitchingTwice"])
def test_who_switches_off_and_on_gets_no_second_mail_within_a_quarter_of_an_hour(
    main, settings, way
):
    """They switch after the first mail, or while it goes out."""
    person = agent()
    cancelled(make_order(main, "1"))
    settings.EMAIL_BACKEND = WAY(way)
    assert drain().get("sent") == 1
    settings.EMAIL_BACKEND = WAY("Outside")
    if way == "Outside":
        switch(person)
        switch(person, *News)
    cancelled(make_order(main, "2"), ago=timedelta(0))
    pass_by(3 * MINUTE)
    assert drain() == {"too soon": 1}
    pass_by(11 * MINUTE)
    assert drain() == {}
    pass_by(MINUTE)
    assert drain() == {"sent": 1}
    assert [subject for _, subject in sent()] == ["Orders: 1 was cancelled"] * 2
    assert "Order 2" in mail.outbox[1].body


def switch(person: User, *kinds: News) -> None:
    choose(person, kinds=kinds, only_mine=False, time_zone="", language="", now=now())


class Switching(locmem.EmailBackend):
    """They switch their mails off while one goes out."""

    def send_messages(self, messages):
        switch(User.objects.get(username="agent"))
        return super().send_messages(messages)


class SwitchingTwice(Switching):
    """They switch them off and on."""

    def send_messages(self, messages):
        taken = super().send_messages(messages)
        switch(User.objects.get(username="agent"), *News)
        return taken


def test_after_weeks_without_a_mail_server_only_the_last_fortnight_is_told(main):
    agent()
    PersonSettings.objects.update(told_until=now() - timedelta(days=60))
    cancelled(make_order(main, "old"), ago=timedelta(days=15))
    cancelled(make_order(main, "new"), ago=timedelta(days=13))
    drain()
    assert [subject for _, subject in sent()] == ["Orders: 1 was cancelled"]


def test_a_watermark_of_a_clock_that_was_ahead_stops_nothing(main):
    agent()
    PersonSettings.objects.update(told_until=now() + HOUR, due_at=now() + 30 * HOUR)
    cancelled(make_order(main))
    assert drain() == {"sent": 1}
    assert PersonSettings.objects.get().told_until < now()


def test_an_installation_without_mail_does_nothing_and_begins_where_it_was(main, settings):
    agent()
    cancelled(make_order(main))
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
    assert (drain(), turn.waiting(now()), health.stalled(now())) == ({}, [], [])
    settings.EMAIL_BACKEND = WAY("Outside")
    assert drain() == {"sent": 1}


def test_the_people_are_the_work_of_the_first_workspace_alone(main):
    make_workspace("second")
    agent()
    cancelled(make_order(main))
    assert turn.waiting(now()) == [("notices", main.pk)]
    assert health.stalled(now()) == [("notices", main.pk)]


def test_a_journey_from_the_order_to_the_mail(workspace, place, box, drain_all, settings):
    settings.EMAIL_BACKEND = WAY("Outside")
    agent()
    order = place("GROUND_PHOTO")
    assignment = order.assignments.get()
    for _ in range(4):
        box.advance(assignment.platform_id)
        box.deliver()
        drain_all()
    assert Order.objects.get().status == "COMPLETED"
    assert sent() == []
    pass_by(mail_queue.SETTLES)
    assert drain() == {"sent": 1}
    assert [subject for _, subject in sent()] == ["Orders: 1 was delivered"]
    pass_by(15 * MINUTE)
    assert (drain(), len(mail.outbox)) == ({}, 1)
