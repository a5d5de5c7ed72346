"""What a batch and an order store is said to each person in their language."""

import html
import re
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils.timezone import now
from django.utils.translation import override

from crm_sync.platform.errors import ErrorKind, Problem
from crm_sync.sentence import said, sentence
from orders.models import ChangeRequest
from orders.placing.dispatch import is_on_platform
from orders.placing.failures import NoSuchChoice
from orders.placing.session_offer import kept_instructions
from properties.catalog import FieldFault
from properties.catalog.unknown import UNKNOWN_NAMES
from properties.domain import bulk_edit
from properties.domain.editing import edit
from properties.models import Batch, Change, Property
from tests.orders.admin_rows import make_order
from tests.properties.form_page import make
from tests.properties.test_bulk_edit import confirm, plan_of

HOW = {"origin": "ADMIN", "now": now()}
LEFT = "anna hat den Wert nach dem Plan geändert"


@pytest.fixture
def rows(main) -> list[Property]:
    return [make(main, f"A-{n}", title=f"Flat {n}", author="Old") for n in range(2)]


def text_of(client: Client, address: str) -> str:
    """Return the text of a page, its tags as blanks."""
    page = client.get(address).content.decode()
    return " ".join(html.unescape(re.sub("<[^>]+>", " ", page)).split())


def test_what_a_batch_left_is_said_in_the_language_of_each_reader(admin_client, german, rows):
    page = plan_of(admin_client, *rows, author="New")
    edit(rows[0], {"author": "Anna's"}, actor=User.objects.create_user("anna"), **HOW)
    confirm(admin_client, page)
    assert "anna changed it after the plan" in text_of(admin_client, page)
    (row,) = german.get(page).context["rows"]
    assert row["reasons"] == [("Nicht gesetzt", "Autorschaft", LEFT)]
    assert LEFT in text_of(german, page)


@pytest.mark.parametrize(
    ("origin", "who"), [("FEED", "Ein Feed"), ("PLATFORM", "Die Plattform"), ("API", "Jemand")]
)
def test_who_was_faster_than_a_batch_has_a_name_in_each_language(
    admin_client, german, rows, origin, who
):
    page = plan_of(admin_client, *rows, author="New")
    edit(rows[0], {"author": "Other"}, origin=origin, now=now())
    confirm(admin_client, page)
    assert f"{who} hat den Wert nach dem Plan geändert" in text_of(german, page)


def test_a_reason_that_a_german_stored_is_english_for_others(admin_client, german, rows):
    batch = Batch.objects.create(kind=Batch.Kind.SET, created_by=User.objects.first())
    batch.properties.add(*rows)
    wide = {f"x{n}": "1" for n in range(UNKNOWN_NAMES)}
    with override("de"):
        bulk_edit.plan(batch, lambda _: {"more": {**wide, "one": "1"}}, entered={}, now=now())
    page = f"/admin/properties/property/batch/{batch.pk}/"
    assert "model does not have are kept: leave out" in text_of(admin_client, page)
    reason = (
        "höchstens 200 Namen, die das Modell der Plattform nicht hat, werden aufbewahrt: Lassen Sie"
        " 202 weg"
    )
    assert [row["refused"] for row in german.get(page).context["rows"]] == [[("More", reason)]] * 2
    assert reason in text_of(german, page)


def test_the_history_says_in_the_language_of_the_reader_which_batch_set_a_field(
    admin_client, german, rows
):
    page = plan_of(admin_client, *rows, author="New")
    confirm(admin_client, page)
    key = Batch.objects.get().pk
    note = f"batch {key}: set for 2"
    assert {one.note for one in Change.objects.filter(cause=f"batch:{key}")} == {note}
    history = f"/admin/properties/property/{rows[0].pk}/history/"
    assert note in text_of(admin_client, history)
    assert f"Sammelaktion {key}: bei 2 gesetzt" in text_of(german, history)


def test_reasons_of_an_older_version_are_shown_as_they_were_stored():
    assert bulk_edit.in_words({"floor": "too high"}) == {"floor": "too high"}
    with override("de"):
        assert bulk_edit.reasons("a", [FieldFault("a", "x"), FieldFault("b.floor", "y")]) == (
            "x; Stockwerk: y"
        )


# --- orders
def test_why_a_request_to_the_platform_came_to_nothing_is_said_in_each_language(
    admin_client, german, main
):
    order = make_order(main)
    columns = {"order": order, "kind": "CANCEL", "sent_at": now(), "ended_at": now()}
    for outcome, problem in (
        ("REFUSED", Problem("PUT /v1: 409", ErrorKind.NOT_ALLOWED, "it is done")),
        ("NOT_DONE", Problem("PUT /v1: 503", ErrorKind.DOWN)),
    ):
        ChangeRequest.objects.create(**columns, token=uuid4(), outcome=outcome, words=problem)
    page = f"/admin/orders/order/{order.pk}/change/"
    assert "Not done: The platform is out of order at the moment." in text_of(admin_client, page)
    shown = text_of(german, page)
    assert "Nicht erledigt: Die Plattform ist im Moment gestört." in shown
    assert "Von der Plattform abgelehnt: it is done" in shown


def test_what_an_order_leaves_out_is_named_in_each_language():
    gone = kept_instructions({"billing": "1"}, {"billing": [{"id": "1", "label": "By mail"}]}, {})
    assert gone == ({}, ["Billing: By mail"])
    left_out = sentence("Not offered: %(choices)s", choices=["PLAN", *gone[1]])
    assert left_out == "Not offered: PLAN; Billing: By mail"
    with override("de"):
        assert left_out.said() == "Nicht angeboten: PLAN; Rechnungsstellung: By mail"


@pytest.mark.parametrize(
    ("path", "problem", "reason", "in_italian"),
    [
        ("title", Problem("zu lang"), "Titel: zu lang", "titolo: zu lang"),
        (
            "",
            Problem("GET: 503", ErrorKind.DOWN),
            "Die Plattform ist im Moment gestört.",
            "Al momento la piattaforma è fuori servizio.",
        ),
    ],
)
def test_why_a_property_is_not_on_the_platform_is_said_in_each_language(
    main, path, problem, reason, in_italian
):
    row = make(main, "A-1")
    row.due_at, row.problem = None, {"REFUSED": {path: problem.stored}}
    with override("de"):
        with pytest.raises(NoSuchChoice) as told:
            is_on_platform(row)
        assert said(told.value) == f"A-1 ist nicht auf der Plattform: {reason}"
    with override("it"):  # whoever wrote it, it is read in the language of the reader
        assert said(told.value) == f"A-1 non è sulla piattaforma: {in_italian}"
    assert str(told.value).startswith("A-1 is not on the platform: ")
