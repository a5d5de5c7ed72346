"""The timeline on the page of an order: newest first, together what came together, with names."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.contrib.auth.models import User

from orders.models import ChangeRequest, Placement
from tests.crm_sync.admin_pages import client_of, make_received_event
from tests.orders.admin_rows import NOW, Fact, make_assignment, make_order, note, page

pytestmark = pytest.mark.django_db


def lines(response) -> list[list[tuple[object, ...]]]:
    """Return what the timeline says, group by group."""
    return [
        [(one.fact, one.about, one.before, one.after) for one in group.lines]
        for group in response.context["timeline"]
    ]


def test_the_timeline_is_newest_first_and_flags_what_is_odd(main, boss):
    order = make_order(main)
    received_event = make_received_event(main)
    assignment = make_assignment(order)
    note(order, "PLACED", minutes=1)
    odd = {"is_listed": False, "received_event": received_event}
    note(order, "COMPLETED", previous="PLACED", minutes=3, **odd)
    late = {"fact": Fact.ASSIGNMENT_STATUS, "assignment": assignment, "was_stale": True}
    note(order, "ODD", minutes=2, **late)
    response = boss.get(page(order))
    assert lines(response) == [
        [("Order status", [], "Placed", "Completed")],
        [("Assignment status", ["Ground photo"], "", "Unknown (ODD)")],
        [("Order status", [], "", "Placed")],
    ]
    flags = [(g.lines[0].is_listed, g.lines[0].was_stale) for g in response.context["timeline"]]
    assert flags == [(False, False), (True, True), (True, False)]
    text = response.content.decode()
    assert (text.count("Unlisted step"), text.count("Came late")) == (1, 1)
    assert f'href="/admin/crm_sync/receivedevent/{received_event.pk}/change/"' in text


def test_what_came_at_one_time_stands_together_and_says_the_same_once(main, boss):
    order = make_order(main)
    twins = [make_assignment(order, f"a{n}") for n in (1, 2)]
    plan = make_assignment(order, "a3", products=["FLOOR_PLAN"])
    for one in (*twins, plan):
        note(order, "SCHEDULED", fact=Fact.ASSIGNMENT_STATUS, assignment=one, previous="CREATED")
        day = "2026-03-09" if one == plan else "2026-03-05"
        note(order, day, fact=Fact.ESTIMATE, assignment=one)
    note(order, "IN_PROGRESS", previous="PLACED", source="READ")
    note(order, "PLACED", minutes=-1)
    response = boss.get(page(order))
    first, second = response.context["timeline"]
    assert sorted((one.fact, one.about, one.after) for one in first.lines) == [
        (
            "Assignment status",
            ["Floor plan", "Ground photo (1 of 2)", "Ground photo (2 of 2)"],
            "Scheduled",
        ),
        ("Estimated delivery", ["Floor plan"], "Mon 9 Mar 2026"),
        (
            "Estimated delivery",
            ["Ground photo (1 of 2)", "Ground photo (2 of 2)"],
            "Thu 5 Mar 2026",
        ),
        ("Order status", [], "In progress"),
    ]
    assert first.sources == {"Read from the platform": None, "Callback": None}
    assert [one.after for one in second.lines] == ["Placed"]


def test_a_photographer_is_called_by_the_name_and_never_by_an_id(main, boss):
    order = make_order(main)
    person = {"id": "ph-77", "name": "Ada Muster"}
    known = make_assignment(order, "a1", photographer=person)
    unknown = make_assignment(order, "a2", photographer={"id": "ph-99"}, products=["FLOOR_PLAN"])
    who = {"fact": Fact.PHOTOGRAPHER}
    note(order, "ph-77", assignment=known, minutes=1, **who)
    # A read that brings the name is no news; nor was it where an older version kept no id of it.
    named = {"new_name": "Ada Muster", "assignment": known, "source": "READ"}
    note(order, "ph-77", previous="ph-77", minutes=2, **named, **who)
    note(order, "", previous="ph-77", minutes=2, **named, **who)
    gone = {"previous_name": "Ada Muster", "assignment": known, "source": "READ"}
    note(order, "", previous="ph-77", minutes=3, **gone, **who)
    note(order, "ph-99", assignment=unknown, minutes=4, **who)
    response = boss.get(page(order))
    assert lines(response) == [
        [("Photographer", ["Floor plan"], "", "somebody not named yet")],
        [("Photographer", ["Ground photo"], "Ada Muster", "None")],
        [("Photographer", ["Ground photo"], "", "Ada Muster")],
    ]
    text = response.content.decode()
    assert ("ph-77" in text, "ph-99" in text) == (False, False)


def test_what_is_ready_is_a_product_with_its_visual_type(main, boss):
    order = make_order(main)
    ready = {"fact": Fact.MATERIALS, "assignment": make_assignment(order)}
    note(order, "GROUND_PHOTO", new_name="POST", minutes=1, **ready)
    note(order, "FLOOR_PLAN", minutes=2, **ready)
    texts = [said for ((*_, said),) in lines(boss.get(page(order)))]
    assert texts == ["Floor plan", "Ground photo, Post"]


def test_dates_are_in_the_zone_of_the_installation(main, boss, settings):
    settings.TIME_ZONE = "Europe/Zurich"
    order = make_order(main)
    assignment = make_assignment(order, scheduled_at=NOW)
    note(order, "2026-03-01T12:00:00+00:00", fact=Fact.APPOINTMENT, assignment=assignment)
    response = boss.get(page(order))
    assert lines(response)[0][0][-1] == "Sun 1 Mar 2026, 13:00 CET"
    (card,) = response.context["assignments"]
    assert dict(card["facts"])["Appointment"].startswith("Sun 1 Mar 2026, 13:00 CET")


@pytest.mark.parametrize(
    ("outcome", "words", "after"),
    [
        ("DONE", "", "Done"),
        ("REFUSED", "the order is COMPLETED", "Refused by the platform: the order is COMPLETED"),
        ("SENT", "", "It is not known whether it was done"),
    ],
)
def test_the_timeline_says_who_of_our_people_did_what(main, boss, outcome, words, after):
    order = make_order(main)
    anna = User.objects.create(username="anna", first_name="Anna", last_name="Keller")
    Placement.objects.create(
        workspace=main, order=order, state="PLACED", sent_at=NOW, created_by=anna
    )
    later = NOW + timedelta(minutes=5)
    ChangeRequest.objects.create(
        order=order,
        kind="CANCEL",
        token=uuid4(),
        asked_by=anna,
        body={"userId": "1", "reason": "sold"},
        outcome=outcome,
        words=words,
        sent_at=later,
        ended_at=None if outcome == "SENT" else later,
    )
    note(order, "PLACED", minutes=1)
    assert lines(boss.get(page(order))) == [
        [("Anna Keller asked to cancel the order", ["“sold”"], "", after)],
        [("Order status", [], "", "Placed")],
        [("Anna Keller placed the order", [], "", "")],
    ]


def test_who_may_not_see_deliveries_gets_no_link_to_one(main):
    order = make_order(main)
    note(order, "PLACED", received_event=make_received_event(main))
    text = client_of("orders.view_order").get(page(order)).content.decode()
    assert "/admin/crm_sync/receivedevent/" not in text
