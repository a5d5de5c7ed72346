"""Reschedule and cancel on the page of an order: only what may be, shown first, sent once."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from html import unescape

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.urls import reverse

from orders.models import Assignment, ChangeRequest, Order, PlatformUser
from tests.crm_sync.admin_pages import CANARY, ESCAPED, client_of
from tests.orders.admin_rows import make_assignment, make_order, page
from tests.orders.conftest import calls, is_due, lost, now, set_aside
from tests.problems import noted

MAY = ("orders.view_order", "orders.change_order")


def change(order: Order, name: str) -> str:
    return reverse(f"admin:orders_order_{name}", args=[order.pk])


def look(client: Client, order: Order, name: str, **wishes: str) -> dict[str, str]:
    """Fill in the form, and return what the page that shows the call posts to send it."""
    response = client.post(change(order, name), {"step": "check", "user": "101"} | wishes)
    text = response.content.decode()
    assert "The call as it goes out" in text, text
    hidden = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', text)
    return {name: unescape(value) for name, value in hidden} | {"step": "send"}


def send(client: Client, order: Order, name: str, **wishes: str) -> list[str]:
    """Go the whole way; return what the page of the order then says."""
    return said(client, order, name, look(client, order, name, **wishes))


def said(client: Client, order: Order, name: str, posted: dict[str, str]) -> list[str]:
    response = client.post(change(order, name), posted, follow=True)
    assert response.redirect_chain == [(page(order), 302)], response.content.decode()
    return [str(message) for message in response.context["messages"]]


def refused(client: Client, order: Order, name: str, **wishes: str) -> dict[str, list[str]]:
    """Send what is not taken; return what the form says, by field."""
    posted = look(client, order, name, **wishes)
    response = client.post(change(order, name), posted)
    assert response.status_code == 200
    return dict(response.context["form"].errors)


# --- what is offered ---
@pytest.mark.parametrize(
    ("status", "work", "offered"),
    [
        ("PLACED", "CREATED", ["Cancel the order…"]),
        ("IN_PROGRESS", "PHOTOGRAPHER_ASSIGNED", ["Reschedule…", "Cancel the order…"]),
        ("IN_PROGRESS", "SCHEDULED", ["Reschedule…", "Cancel the order…"]),
        ("IN_PROGRESS", "RESCHEDULE_IN_PROCESS", ["Cancel the order…"]),
        ("IN_PROGRESS", "IN_PRODUCTION", ["Cancel the order…"]),
        ("COMPLETED", "DELIVERED", []),
        ("CANCELLED", "SCHEDULED", []),
        ("ON_HOLD", "CREATED", []),
    ],
)
def test_the_page_offers_what_the_state_allows(main, boss, status, work, offered):
    order = make_order(main, status=status)
    make_assignment(order, status=work, assignment_type="PHOTO")
    response = boss.get(page(order))
    assert [title for title, _ in response.context["changes"]] == offered


def test_a_document_is_not_rescheduled_in_any_state(main, boss):
    order = make_order(main, status="IN_PROGRESS")
    make_assignment(order, status="SCHEDULED", assignment_type="DOCUMENT")
    assert [title for title, _ in boss.get(page(order)).context["changes"]] == ["Cancel the order…"]


def test_the_card_of_an_assignment_leads_to_the_form_with_it_chosen(scheduled, boss):
    text = boss.get(page(scheduled)).content.decode()
    found = [unescape(one) for one in re.findall(r'href="([^"]+)">Reschedule this<', text)]
    photos = Assignment.objects.get(products=["GROUND_PHOTO"])
    chosen = f"{change(scheduled, 'reschedule')}?assignment={photos.platform_id}"
    assert chosen in found
    form = boss.get(chosen).context["form"]
    assert form["assignment"].value() == photos.platform_id
    text = boss.get(f"{change(scheduled, 'reschedule')}?assignment=nobody").content.decode()
    assert "nobody" not in text


def test_what_is_not_offered_is_not_done_either(main, boss):
    order = make_order(main, status="COMPLETED")
    posted = {"step": "send", "user": "101", "token": "0" * 32}
    assert said(boss, order, "cancel", posted) == [
        "The order is completed: it cannot be changed any more."
    ]
    assert not ChangeRequest.objects.exists()


def test_a_form_that_is_only_opened_asks_nobody_and_changes_nothing(scheduled, box, boss):
    for name in ("reschedule", "cancel"):
        assert boss.get(change(scheduled, name)).status_code == 200
    assert calls(box) == []
    assert not ChangeRequest.objects.exists()


@pytest.mark.parametrize("name", ["reschedule", "cancel"])
def test_a_form_that_orders_nothing_does_not_ask_who_orders(scheduled, boss, name):
    text = boss.get(change(scheduled, name)).content.decode()
    assert ("In the name of" in text, "Order as" in text) == (True, False)


# --- cancel ---
def test_a_cancellation_is_shown_before_it_is_sent(scheduled, box, boss):
    posted = {"step": "check", "user": "102", "reason": "sold"}
    response = boss.post(change(scheduled, "cancel"), posted)
    assert response.context["facts"] == [
        ("Order", scheduled.platform_id),
        ("Property", "SEED-1"),
        ("In the name of", "Agent Two (AGENT-2)"),
        ("Reason", "sold"),
    ]
    assert response.context["call"] == f"PUT /v1/orders/{scheduled.platform_id}/cancel"
    assert response.context["body"] == '{\n  "userId": "102",\n  "reason": "sold"\n}'
    assert calls(box, "PUT") == []


def test_a_cancellation_is_sent_and_the_order_shows_it_at_once(scheduled, box):
    client = client_of(*MAY)
    assert send(client, scheduled, "cancel", reason="sold") == ["The order is cancelled."]
    assert calls(box, "PUT") == [("PUT", f"/v1/orders/{scheduled.platform_id}/cancel")]
    scheduled.refresh_from_db()
    assert scheduled.status == "CANCELLED"
    request = ChangeRequest.objects.get()
    assert (request.kind, request.outcome, request.body, request.asked_by.username) == (
        "CANCEL",
        "DONE",
        {"userId": "101", "reason": "sold"},
        "user-0",
    )
    assert noted() == ["Cancel: sent."]
    assert client.get(page(scheduled)).context["changes"] == []


def test_a_form_that_is_sent_twice_is_sent_once(scheduled, box, boss):
    posted = look(boss, scheduled, "reschedule")
    assert said(boss, scheduled, "reschedule", posted) == [
        "The platform was asked for another appointment."
    ]
    assert said(boss, scheduled, "reschedule", posted) == ["This was sent before, and only once."]
    assert len(calls(box, "PUT")) == 1


@pytest.mark.django_db(transaction=True)
def test_a_double_click_sends_once_though_no_answer_is_there_yet(place, box, wire, boss):
    order = place()
    posted = look(boss, order, "cancel")
    second: list[list[str]] = []

    def click_again() -> None:
        def click() -> list[str]:
            try:
                return said(boss, order, "cancel", posted)
            finally:
                connection.close()

        with ThreadPoolExecutor(1) as pool:
            second.append(pool.submit(click).result())

    wire.before["/cancel"] = click_again
    assert said(boss, order, "cancel", posted)[-1] == "The order is cancelled."
    assert second == [["This was sent before, and only once."]]
    assert len(calls(box, "PUT")) == 1


# --- reschedule ---
def test_an_assignment_is_chosen_and_a_time_is_proposed_in_our_zone(scheduled, box, boss, settings):
    settings.TIME_ZONE = "Europe/Zurich"
    photos = Assignment.objects.get(products=["GROUND_PHOTO"])
    form = boss.get(change(scheduled, "reschedule")).context["form"]
    assert form.fields["proposed_at"].label == "Proposed time (Europe/Zurich)"
    assert [name for _, name in form.fields["assignment"].choices] == [
        "All assignments that can be moved (2)",
        "Ground photo",
        "Floor plan",
    ]
    year = now().year + 1
    wishes = {"assignment": photos.platform_id, "proposed_at": f"{year}-07-01T10:30"}
    response = boss.post(change(scheduled, "reschedule"), {"step": "check", "user": "101"} | wishes)
    facts = dict(response.context["facts"])
    assert facts["Proposed time"].endswith(f"1 Jul {year}, 10:30 CEST")
    assert facts["What"].startswith("Ground photo, now ")
    send(boss, scheduled, "reschedule", **wishes)
    (request,) = ChangeRequest.objects.all()
    assert request.body == {
        "userId": "101",
        "assignmentId": photos.platform_id,
        "proposedAt": f"{year}-07-01T08:30:00Z",
    }
    photos.refresh_from_db()
    assert photos.status == "RESCHEDULE_IN_PROCESS"


@pytest.mark.parametrize(
    ("wishes", "errors"),
    [
        ({"user": ""}, {"user": ["This field is required."]}),
        ({"proposed_at": "2020-01-01T10:00"}, {"proposed_at": ["This time is over already."]}),
        ({"proposed_at": "soon"}, {"proposed_at": ["Enter a valid date/time."]}),
    ],
)
def test_what_cannot_be_sent_is_said_at_its_field(scheduled, box, boss, wishes, errors):
    posted = {"step": "check", "user": "101"} | wishes
    response = boss.post(change(scheduled, "reschedule"), posted)
    assert response.context["form"].errors == errors
    assert calls(box) == []


@pytest.mark.parametrize("may_be_known", [True, False])
def test_the_form_proposes_who_is_logged_in(scheduled, may_be_known):
    client = client_of(*MAY)
    mine = PlatformUser.objects.filter(platform_id="102")
    mine.update(account=User.objects.get(), gone_at=None if may_be_known else now())
    text = client.get(change(scheduled, "cancel")).content.decode()
    chosen = re.findall(r'<option value="(\w*)" selected', text)
    assert chosen == (["102"] if may_be_known else [""])
    if may_be_known:
        posted = look(client, scheduled, "cancel", user="102")
        said(client, scheduled, "cancel", posted)
        assert ChangeRequest.objects.get().body == {"userId": "102"}
        text = client.get(page(scheduled)).content.decode()
        assert "user-0 asked to cancel the order, as Agent Two" in text


def test_before_any_user_is_known_one_is_named_and_looked_for(scheduled, box, boss):
    PlatformUser.objects.all().delete()
    assert 'type="text" name="user"' in boss.get(change(scheduled, "cancel")).content.decode()
    send(boss, scheduled, "cancel", user="AGENT-2")
    assert ChangeRequest.objects.get().body == {"userId": "102"}


def test_a_user_whom_the_platform_does_not_know_is_named_at_the_field(scheduled, box, boss):
    PlatformUser.objects.all().delete()
    posted = {"step": "check", "user": "NOBODY"}
    (error,) = boss.post(change(scheduled, "cancel"), posted).context["form"].errors["user"]
    assert error.startswith("No user 'NOBODY' on the platform; there is: ")
    assert calls(box, "PUT") == []


def test_the_form_keeps_what_was_typed_when_somebody_goes_back(scheduled, boss):
    posted = look(boss, scheduled, "cancel", reason="sold") | {"step": "edit"}
    text = boss.post(change(scheduled, "cancel"), posted).content.decode()
    assert ('<option value="101" selected>' in text, "sold</textarea>" in text) == (True, True)


# --- what the platform says against it ---
def test_a_409_is_said_in_words_and_the_order_is_read_again(scheduled, box, boss, drain_all):
    """The mirror is late: on the platform somebody else has cancelled it."""
    posted = look(boss, scheduled, "cancel")
    box.workspace.orders[scheduled.platform_id]["status"] = "COMPLETED"
    set_aside(scheduled)
    assert said(boss, scheduled, "cancel", posted) == [
        "The platform did not allow it: the order is COMPLETED. The order is read again."
    ]
    assert is_due(scheduled)
    drain_all()
    scheduled.refresh_from_db()
    assert scheduled.status == "COMPLETED"
    assert ChangeRequest.objects.get().outcome == "REFUSED"


def test_a_400_stands_at_the_field_that_it_names(scheduled, wire, boss):
    body = b"""{"status": 400, "message": "Bad", "errors": [
        {"field": "proposedAt", "message": "is on a Sunday"},
        {"field": "userId", "message": "has left"},
        {"field": "weather", "message": "is bad"}]}"""
    wire.answers["/reschedule"] = ("400 Bad Request", body)
    assert refused(boss, scheduled, "reschedule") == {
        "proposed_at": ["The platform says: is on a Sunday."],
        "user": ["The platform says: has left."],
        "__all__": ["The platform says: is bad."],
    }


def test_a_400_that_names_nothing_stands_above_the_form(scheduled, wire, boss):
    wire.answers["/cancel"] = ("400 Bad Request", b'{"message": "not today"}')
    assert refused(boss, scheduled, "cancel") == {"__all__": ["The platform says: not today."]}


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            "429 Too Many Requests",
            "Nothing was changed. The platform takes no more calls for a moment. Try again after",
        ),
        ("401 Unauthorized", "Nothing was changed. The platform does not accept"),
        ("404 Not Found", "The platform does not have it, or has it no longer. "),
    ],
)
def test_what_surely_was_not_done_is_said_so(scheduled, wire, boss, answer, words):
    wire.answers["/cancel"] = (answer, b"{}")
    (error,) = refused(boss, scheduled, "cancel")["__all__"]
    assert words in error
    scheduled.refresh_from_db()
    assert scheduled.status == "IN_PROGRESS"


def test_an_unclear_answer_is_said_so_and_read_and_never_repeated(
    scheduled, box, wire, boss, drain_all
):
    wire.after["/cancel"] = lost
    (text,) = send(boss, scheduled, "cancel")
    assert text.startswith("The platform gave no clear answer, so it is not known")
    assert ChangeRequest.objects.get().outcome == "UNCLEAR"
    assert is_due(scheduled)
    drain_all()
    scheduled.refresh_from_db()
    assert scheduled.status == "CANCELLED"
    assert len(calls(box, "PUT")) == 1


@pytest.mark.parametrize("outcome", ["DONE", "SENT"])
def test_an_order_is_read_soon_even_if_the_process_ends_with_its_call(
    place, wire, monkeypatch, boss, outcome
):
    order = place()
    set_aside(order)
    began = now()
    if outcome == "SENT":

        def die() -> None:
            raise SystemExit

        wire.before["/cancel"] = die
        with pytest.raises(SystemExit):
            boss.post(change(order, "cancel"), look(boss, order, "cancel"))
    else:
        send(boss, order, "cancel")
    order.refresh_from_db()
    assert ChangeRequest.objects.get().outcome == outcome
    assert began < order.due_at < began + timedelta(minutes=1)


def test_nothing_that_was_typed_or_said_becomes_markup(scheduled, wire, boss):
    make_assignment(scheduled, CANARY, status="SCHEDULED", products=[CANARY])
    wire.answers["/reschedule"] = ("400 Bad Request", f'{{"message": "{CANARY}"}}'.encode())
    wishes = {"reason": CANARY, "assignment": CANARY, "user": "101"}
    first = boss.get(change(scheduled, "reschedule"))
    second = boss.post(change(scheduled, "reschedule"), {"step": "check"} | wishes)
    posted = look(boss, scheduled, "reschedule", **wishes)
    third = boss.post(change(scheduled, "reschedule"), posted)
    for response in (first, second, third):
        text = response.content.decode()
        assert CANARY.lower() not in text.lower()
        assert ESCAPED in text
