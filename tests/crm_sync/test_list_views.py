"""A person keeps a list under a name, sees how many rows it has, and chooses its columns."""

from urllib.parse import parse_qs, urlencode

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.http import QueryDict
from django.test import Client
from hypothesis import given, strategies as st

from crm_sync.admin.ui import list_views
from crm_sync.admin.ui.kept_query import kept, opened
from crm_sync.models import NamedView
from properties.models import Property
from tests.crm_sync.admin_pages import client_of, make_workspace, queries_of
from tests.together import crossing

LIST = "/admin/properties/property/"
COLUMNS = ["action_checkbox", "reference", "title", "price"]


@pytest.fixture
def boss(db) -> Client:
    main = make_workspace()
    for number in range(5):
        desired = {"offerType": "RENT" if number % 2 else "BUY", "title": f"House {number}"}
        Property.objects.create(workspace=main, object_reference_id=f"R-{number}", desired=desired)
    return client_of(superuser=True)


def act(client: Client, act: str, query: str = "", **values: object):
    """Press a button above the list, and return the list."""
    posted = {"act": act, "query": query} | values
    return client.post(f"{LIST}views/", posted, follow=True)


def counts(client: Client, view: object = "") -> dict[str, str]:
    tabs = client.get(f"{LIST}views/?view={view}").context["views"]
    return {one.title: one.count for one in tabs}


def shown(response) -> list[str]:
    return [row.object_reference_id for row in response.context["cl"].result_list]


def columns(response) -> list[str]:
    return response.context["cl"].list_display


def said(response) -> list[str]:
    return [str(one) for one in response.context["messages"]]


def test_a_list_is_kept_with_filter_search_and_order_and_opened_again(boss):
    kept_list = act(boss, "save", "offer=RENT&q=house&o=-1&p=1&e=1", name="  My  rents ")
    view = NamedView.objects.get()
    known = {"o": ["-reference"], "offer": ["RENT"], "q": ["house"]}
    assert (view.name, view.query) == ("My rents", known)
    assert kept_list.redirect_chain[-1][0] == f"{LIST}?view={view.pk}&o=-1&offer=RENT&q=house"
    assert (shown(kept_list), said(kept_list)) == (["R-3", "R-1"], ["Saved as “My rents”."])
    tabs = [(one.title, one.is_on) for one in kept_list.context["views"]]
    assert tabs == [("Whole list", False), ("My rents", True)]
    assert counts(boss) == {"Whole list": "", "My rents": "2"}


def test_only_the_view_that_is_open_is_replaced(boss):
    act(boss, "save", "offer=RENT", name="Mine")
    refused = act(boss, "save", "offer=BUY", name="Mine")
    known = "You have a view “Mine” already. Open it to change it, or take another name."
    assert (said(refused), counts(boss)) == ([known], {"Whole list": "", "Mine": "2"})
    act(boss, "save", "offer=BUY", name="Mine", view=NamedView.objects.get().pk)
    assert counts(boss) == {"Whole list": "", "Mine": "3"}


def test_a_view_is_renamed_and_deleted(boss):
    act(boss, "save", "offer=RENT", name="Mine")
    act(boss, "save", "", name="Another")
    view = NamedView.objects.get(name="Mine")
    taken = act(boss, "rename", "", name="Another", view=view.pk)
    assert said(taken) == ["Nothing was renamed: “Another” is no new name."]
    act(boss, "rename", "", name="Rents", view=view.pk)
    assert sorted(counts(boss)) == ["Another", "Rents", "Whole list"]
    gone = act(boss, "delete", f"view={view.pk}&offer=RENT", view=view.pk)
    assert (said(gone), gone.redirect_chain[-1][0]) == (["The view “Rents” is deleted."], LIST)
    assert sorted(counts(boss)) == ["Another", "Whole list"]


@pytest.mark.django_db(transaction=True)
def test_of_two_views_that_get_one_name_at_once_the_second_one_keeps_its_own(boss):
    for name in ("Mine", "Another"):
        act(boss, "save", "", name=name)

    def rename(name: str) -> int:
        view = NamedView.objects.get(name=name).pk
        posted = {"act": "rename", "name": "Rents", "view": view}
        return boss.post(f"{LIST}views/", posted).status_code

    both = crossing(
        lambda: rename("Mine"), lambda: rename("Another"), at='UPDATE "crm_sync_namedview"'
    )
    assert both == (302, 302)
    names = sorted(NamedView.objects.values_list("name", flat=True))
    assert names in (["Another", "Rents"], ["Mine", "Rents"])


@pytest.mark.parametrize("name", ["", "  ", "\x00"])
def test_a_view_needs_a_name(boss, name):
    assert said(act(boss, "save", "offer=RENT", name=name)) == ["A view needs a name."]
    assert not NamedView.objects.exists()


def test_a_name_is_as_long_as_its_column(boss):
    act(boss, "save", "", name="x" * 500)
    assert NamedView.objects.get().name == "x" * 60


def test_nobody_has_more_views_than_can_be_counted(boss):
    for number in range(list_views.MOST_VIEWS):
        act(boss, "save", "", name=f"{number}")
    refused = act(boss, "save", "", name="one more")
    assert said(refused) == ["You have 10 views of this list, which is the most. Delete one first."]
    act(boss, "save", "offer=BUY", name="3", view=NamedView.objects.get(name="3").pk)
    assert NamedView.objects.count() == list_views.MOST_VIEWS


@pytest.mark.parametrize("values", [{"act": "x"}, {"act": "save", "query": "q=" + "x" * 5_000}])
def test_what_is_no_view_is_not_kept(boss, values):
    response = boss.post(f"{LIST}views/", {"name": "Mine"} | values, follow=True)
    assert said(response) == ["Nothing was saved: this list cannot be a view."]
    assert not NamedView.objects.exists()


@pytest.mark.rule("S23")
def test_a_person_whose_name_somebody_searched_for_can_be_removed(boss):
    act(boss, "save", urlencode({"q": "Jörg Mustermann"}), name="His flats")
    call_command("forget_person", "Jörg Mustermann")
    view = NamedView.objects.get()
    assert (view.name, "Jörg" in str(view.query)) == ("His flats", False)
    assert counts(boss)["His flats"] == "0"


@pytest.mark.rule("S17")
def test_a_person_sees_and_changes_only_their_own_views(boss):
    act(boss, "save", "offer=RENT", name="Mine")
    view = NamedView.objects.get()
    other = client_of(superuser=True)
    assert other.get(f"{LIST}?view={view.pk}&offer=RENT").context["views"] == []
    for what in ("rename", "delete", "columns"):
        act(other, what, "", name="Theirs", view=view.pk)
    view.refresh_from_db()
    assert (view.name, view.hidden) == ("Mine", [])
    assert client_of("orders.view_order").get(f"{LIST}views/").status_code == 403
    assert client_of("orders.view_order").post(f"{LIST}views/").status_code == 403


def test_the_count_stops_at_a_thousand(boss, monkeypatch):
    monkeypatch.setattr(list_views, "MOST_COUNTED", 2)
    act(boss, "save", "offer=RENT", name="two")
    act(boss, "save", "offer=BUY", name="three")
    assert counts(boss) == {"Whole list": "", "two": "2", "three": "2+"}


def test_the_list_takes_as_many_queries_with_ten_views_as_with_one(boss):
    act(boss, "save", "offer=RENT", name="0")
    one, counted = queries_of(boss, LIST), queries_of(boss, f"{LIST}views/")
    for number in range(1, 10):
        act(boss, "save", f"offer=RENT&q=house+{number}", name=f"{number}")
    assert queries_of(boss, LIST) == one
    # A search looks up the keys of what it finds before it counts.
    assert queries_of(boss, f"{LIST}views/") <= counted + 9 * 2


@pytest.mark.parametrize(
    "query", ["nothing=1", "workspace__fixed_token=1", "pk__in=x", "o=99.x&p=7"]
)
def test_a_view_whose_filter_is_gone_breaks_no_page(boss, query):
    act(boss, "save", "", name="Odd")
    view = NamedView.objects.get()
    NamedView.objects.update(query=parse_qs(query))
    assert boss.get(LIST).status_code == 200
    assert counts(boss)["Odd"] in ("?", "5")
    opened_ = boss.get(f"{LIST}?view={view.pk}&{query}", follow=True)
    assert (opened_.status_code, len(shown(opened_))) == (200, 5)
    if opened_.redirect_chain:
        assert said(opened_) == [list_views.GONE % {"name": "Odd"}]
        assert opened_.redirect_chain[-1][0] == f"{LIST}?view={view.pk}"
    act(boss, "delete", "", view=view.pk)
    assert counts(boss) == {}


def test_a_filter_for_which_a_person_lost_the_permission_breaks_no_page(boss):
    client = client_of("properties.view_property", "orders.view_order")
    act(client, "save", "order=none", name="To order")
    user = User.objects.get(pk=NamedView.objects.get().person_id)
    user.user_permissions.filter(codename="view_order").get()
    user.user_permissions.remove(*user.user_permissions.filter(codename="view_order"))
    assert counts(client)["To order"] == "?"
    view = NamedView.objects.get()
    response = client.get(f"{LIST}?view={view.pk}&order=none", follow=True)
    assert said(response) == [list_views.GONE % {"name": "To order"}]


# --- columns ---
def test_columns_are_switched_off_and_on_for_the_list_and_for_a_view(boss):
    whole = columns(boss.get(LIST))
    assert whole[:3] == ["action_checkbox", "reference", "shown_title"]
    act(boss, "columns", "", column=["price", "place"])
    assert columns(boss.get(LIST)) == ["action_checkbox", "reference", "place", "price"]
    act(boss, "save", "offer=RENT", name="Mine")
    view = NamedView.objects.get(name="Mine")
    act(boss, "columns", f"view={view.pk}&offer=RENT", column=["state"], view=view.pk)
    in_view = boss.get(f"{LIST}?view={view.pk}&offer=RENT")
    assert columns(in_view) == ["action_checkbox", "reference", "state"]
    assert columns(boss.get(LIST)) == ["action_checkbox", "reference", "place", "price"]
    act(boss, "columns", "", column=whole)
    assert columns(boss.get(LIST)) == whole
    boxes = [one for one in in_view.context["columns"] if one[2]]
    assert boxes == [("state", "Sync", True)]


def test_the_columns_of_one_list_and_of_one_person_are_no_others(boss):
    act(boss, "columns", "", column=[])
    assert columns(boss.get(LIST)) == ["action_checkbox", "reference"]
    assert len(columns(boss.get("/admin/orders/order/"))) > 2
    assert len(columns(client_of(superuser=True).get(LIST))) > 2


def test_a_list_stays_sorted_when_columns_go(boss):
    by_title = boss.get(LIST).context["cl"].list_display.index("shown_title")
    response = act(boss, "columns", f"o=-{by_title}.1", column=["shown_title", "price"])
    assert parse_qs(response.redirect_chain[-1][0].partition("?")[2]) == {"o": ["-2.1"]}
    by_state = boss.get(LIST).context["cl"].list_display.index("price")
    gone = act(boss, "columns", f"o={by_state}.-1", column=["shown_title"])
    assert parse_qs(gone.redirect_chain[-1][0].partition("?")[2]) == {"o": ["-1"]}


NAMES = st.sampled_from(["offer", "q", "o", "locality", "p", "view"])
QUERIES = st.lists(st.tuples(NAMES, st.text(max_size=6) | st.from_regex(r"-?\d(\.-?\d)?")))


@given(QUERIES, st.permutations(COLUMNS))
def test_a_kept_query_opens_as_what_it_was_whatever_the_columns(pairs, others):
    query = QueryDict(urlencode(pairs))
    first = kept(query, COLUMNS)
    assert kept(QueryDict(opened(first, COLUMNS)), COLUMNS) == first
    assert kept(QueryDict(opened(first, others)), others) == first


# --- a list that moves ---
def test_a_list_returns_the_parts_that_change_alone_and_no_link_repeats_that(boss):
    whole = boss.get(f"{LIST}?offer=RENT").content.decode()
    assert 'data-follow="?offer=RENT&amp;live=1"' in whole
    parts = boss.get(f"{LIST}?offer=RENT&live=1").content.decode()
    assert [f'data-part="{name}"' in parts for name in ("rows", "pages")] == [True, True]
    assert ("R-1" in parts, "R-2" in parts, "live" in parts) == (True, False, False)
    assert ("<html" in parts, "cs-views" in parts) == (False, False)
    assert len(parts) < len(whole) / 2


@pytest.mark.rule("S17")
def test_the_parts_of_a_list_are_for_whoever_may_see_it(boss):
    assert client_of("orders.view_order").get(f"{LIST}?live=1").status_code == 403
    assert Client().get(f"{LIST}?live=1").status_code == 302


def test_a_page_of_thirty_rows_is_light(boss):
    main = Property.objects.all()[0].workspace
    for number in range(40):
        document = {"title": "x" * 60, "address": {"street": "y" * 40, "locality": "z" * 40}}
        Property.objects.create(workspace=main, object_reference_id=f"S-{number}", desired=document)
    query = "locality=zzz&asking_price_from=&number_of_rooms_from=&offer=&order=none"
    assert len(boss.get(f"{LIST}?{query}").content) < 200_000
