"""Wherever an order or a placement names a user of the platform, its name is shown and found."""

import json
from io import StringIO
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.utils.timezone import now

from crm_sync.admin.ui.readonly import ROWS
from crm_sync.models import Workspace
from orders.models import Order, Placement, PlatformUser
from tests.crm_sync.admin_pages import CANARY, ESCAPED, client_of, make_workspace, queries_of
from tests.orders.admin_rows import LIST, PLACEMENTS, context_of, make_order

pytestmark = pytest.mark.django_db


def make_user(workspace: Workspace, platform_id: str = "101", **columns: Any) -> PlatformUser:
    known = {"name": "Agent One", "user_reference_id": "AGENT-1"}
    return PlatformUser.objects.create(
        workspace=workspace, platform_id=platform_id, **(known | columns)
    )


def make_placement(workspace: Workspace, **columns: Any) -> Placement:
    known = {"object_reference_id": "R-1", "user_platform_id": "101"}
    return Placement.objects.create(workspace=workspace, **(known | columns))


def ordered_by(client: Client, row: Order | Placement) -> str:
    return str(dict(context_of(client, row)["facts"])["Ordered by"])


def found(client: Client, address: str, query: str) -> list[int]:
    return [row.pk for row in client.get(f"{address}?{query}").context["cl"].result_list]


@pytest.mark.parametrize("make", [make_order, make_placement])
def test_a_page_names_who_ordered_and_says_where_somebody_is_gone_or_not_known(main, boss, make):
    row = make(main, user_platform_id="101")
    gone = '<span class="cs-badge cs-warning">Gone</span>'
    not_known = '<span class="cs-badge cs-muted">Not known here</span>'
    assert ordered_by(boss, row) == f"101 {not_known}"
    make_user(make_workspace("other"))
    assert ordered_by(boss, row) == f"101 {not_known}"
    user = make_user(main)
    assert "Agent One (AGENT-1)" in ordered_by(boss, row)
    assert gone not in ordered_by(boss, row)
    PlatformUser.objects.filter(pk=user.pk).update(gone_at=now())
    assert "Agent One (AGENT-1)" in ordered_by(boss, row)
    assert gone in ordered_by(boss, row)
    type(row).objects.update(user_platform_id="")
    assert ordered_by(boss, row) == "—"


def test_a_placement_by_reference_shows_that(main, boss):
    row = make_placement(main, user_platform_id="", user_reference_id="AGENT-7")
    assert "AGENT-7" in ordered_by(boss, row)


@pytest.mark.parametrize(("address", "make"), [(LIST, make_order), (PLACEMENTS, make_placement)])
def test_a_list_names_who_ordered_with_as_many_queries_for_any_number(main, boss, address, make):
    make_user(main, "0", name=CANARY)
    columns = {"platform_id": "0"} if make is make_order else {}
    make(main, user_platform_id="0", **columns)
    one = queries_of(boss, address)
    for number in range(1, ROWS):
        make_user(main, f"{number}", name=f"Person {number}", user_reference_id="")
        columns = {"platform_id": f"{number}"} if make is make_order else {}
        make(main, user_platform_id=f"{number}", **columns)
    assert queries_of(boss, address) == one
    text = boss.get(address).content.decode()
    assert f">Person {ROWS - 1}</span><span" in text
    assert ESCAPED in text
    assert CANARY not in text


@pytest.mark.parametrize(
    ("address", "make", "column"), [(LIST, make_order, 4), (PLACEMENTS, make_placement, 5)]
)
def test_a_row_is_found_and_sorted_by_the_person(main, boss, address, make, column):
    make_user(main)
    make_user(main, "102", name="A Person", user_reference_id="B-2")
    make_user(make_workspace("other"), "103", name="Agent One")
    one, two, three = (
        make(main, user_platform_id=key, **({"platform_id": key} if make is make_order else {}))
        for key in ("101", "102", "103")
    )
    assert found(boss, address, "q=agent+one") == [one.pk]
    assert found(boss, address, "q=AGENT-1") == [one.pk]
    assert [pk for pk in found(boss, address, f"o={column}") if pk != three.pk] == [two.pk, one.pk]
    assert [pk for pk in found(boss, address, f"o=-{column}") if pk != three.pk] == [one.pk, two.pk]


@pytest.mark.parametrize("address", [LIST, PLACEMENTS])
def test_the_lists_can_be_narrowed_to_what_i_ordered_or_one_user(main, address):
    client = client_of("orders.view_order", "orders.view_placement")
    user = make_user(main, account=User.objects.get())
    other = make_user(main, "102", name="Agent Two")
    rows = {
        key: make_order(main, key, user_platform_id=key)
        if address == LIST
        else make_placement(main, user_platform_id=key)
        for key in ("101", "102", "103")
    }
    mine = "whose=mine" if address == LIST else "by=me"
    assert found(client, address, mine) == [rows["101"].pk]
    assert found(client, address, f"by={user.pk}") == [rows["101"].pk]
    assert found(client, address, f"by={other.pk}") == [rows["102"].pk]


@pytest.mark.parametrize("address", [LIST, PLACEMENTS])
@pytest.mark.parametrize("by", ["me", "9" * 30, "999", "x", "1'--"])
def test_who_is_nobody_has_ordered_nothing(main, address, by):
    client = client_of("orders.view_order", "orders.view_placement")
    make_order(main)
    make_placement(main)
    assert found(client, address, urlencode({"by": by})) == []


def test_the_commands_name_who_acts(box, workspace, home):
    def run(name: str, *words: str) -> dict[str, Any]:
        out = StringIO()
        call_command(name, "main", *words, "--user", "AGENT-1", "--json", stdout=out)
        return json.loads(out.getvalue())

    one = ("--reference", "SEED-1", "--product", "GROUND_PHOTO")
    name = "Agent One (AGENT-1)"
    assert run("place_order", *one, "--dry-run")["user"] == name
    placed = run("place_order", *one)
    assert (placed["userId"], placed["user"]) == ("101", name)
    assert run("cancel_order", placed["order"], "--dry-run")["user"] == name
    PlatformUser.objects.update(gone_at=now())
    moved = run("cancel_order", placed["order"])
    assert (moved["userId"], moved["user"]) == ("101", name)
