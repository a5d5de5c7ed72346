"""The tab Match: what it shows, what its buttons do, who may press them (I36, S17)."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils.timezone import now

from crm_sync.models import Workspace, hold
from properties.domain.editing import create
from properties.imports.upload import release
from properties.merge import leaves
from properties.models import Change, Conflict, Property
from properties.models.change import Origin
from tests.crm_sync.admin_pages import queries_of
from tests.problems import noted
from tests.properties.form_page import FormReader
from tests.properties.uploaded import counts, fresh, rows, upload, work

pytestmark = pytest.mark.django_db


def address(workspace: Workspace, by="address", show="") -> str:
    return f"/admin/properties/property/match/{workspace.pk}/?by={by}&show={show}"


def home(number=1, **more) -> dict:
    place = {"street": "Seestrasse", "streetNumber": str(number), "postalCode": "8002"}
    return {"address": place, "numberOfRooms": 3.5, "title": f"House {number}"} | more


def ours(workspace, reference: str, **document) -> Property:
    return create(workspace, reference, leaves(document), origin="FEED", now=now())


def theirs(workspace, number: int, **document) -> Property:
    whole = document | {"objectReferenceId": f"P-{number}"}
    row = Property.objects.create(
        workspace=workspace,
        object_reference_id=f"P-{number}",
        platform_id=str(number),
        desired=whole,
        observed=whole | {"id": str(number)},
        read_at=now(),
        revision=1,
    )
    Change.objects.create(real_estate_property=row, path="", origin=Origin.PLATFORM, revision=1)
    return row


def person(*permissions: str, workspaces: list[Workspace]) -> Client:
    user = User.objects.create_user(f"person-{User.objects.count()}", is_staff=True)
    user.user_permissions.add(*Permission.objects.filter(codename__in=permissions))
    user.workspaces.set(workspaces)
    client = Client()
    client.force_login(user)
    return client


def tiles(page) -> dict[str, int]:
    return {title: count for title, count, *_ in page.context["tiles"]}


def names() -> set[tuple[str | None, str | None]]:
    return set(Property.objects.values_list("object_reference_id", "platform_id"))


@pytest.fixture
def four(main) -> dict[str, Property]:
    """Return a pair, a row that fits two of the platform, and one on each side alone."""
    return {
        "pair": ours(main, "CRM-1", **home(1)),
        "pair there": theirs(main, 1, **home(1, title="By hand")),
        "two": ours(main, "CRM-2", **home(2)),
        "two there": theirs(main, 2, **home(2)),
        "two there, too": theirs(main, 3, **home(2)),
        "here": ours(main, "CRM-4", **home(4)),
        "there": theirs(main, 5, **home(5)),
    }


def test_the_page_counts_the_parts_and_shows_both_sides_of_a_pair(main, four, boss):
    page = boss.get(address(main))
    assert tiles(page) == {
        "Matched": 1,
        "Ambiguous": 1,
        "Only here: will be created": 1,
        "Only on the platform": 1,
    }
    text = page.content.decode()
    for shown in ("CRM-1", "House 1", "P-1", "By hand", "Seestrasse 1, 8002, 3½ rooms"):
        assert shown in text
    (row,) = page.context["rows"]
    assert (row["ours"]["pk"], row["theirs"]["pk"]) == (four["pair"].pk, four["pair there"].pk)
    for show, wanted in (("here", "CRM-4"), ("there", "P-5"), ("ambiguous", "P-3: House 2")):
        assert wanted in boss.get(address(main, show=show)).content.decode()


def test_the_list_and_the_page_of_a_property_that_is_to_be_matched_lead_here(main, four, boss):
    waits = {"wait_reason": "MATCH", "due_at": now() + timedelta(hours=1)}
    Property.objects.filter(pk=four["two"].pk).update(**waits)
    tab, text = address(main).partition("?")[0], "The platform may have it already"
    listed = boss.get("/admin/properties/property/?state=TO_MATCH").content.decode()
    assert f'<a class="cs-link" href="{tab}">{text}</a>' in listed
    page = boss.get(f"/admin/properties/property/{four['two'].pk}/change/")
    (one,) = page.context["overview"]["waiting"]
    assert (one["name"], one["text"], one["link"]) == ("Match it", text, tab)
    assert page.context["overview"]["waiting_count"] == 1
    html = page.content.decode()
    assert "Nothing waits for a person" not in html
    assert f'<a class="cs-button" href="{tab}">Match it</a>' in html
    for other in ("here", "two there"):
        html = boss.get(f"/admin/properties/property/{four[other].pk}/change/").content.decode()
        assert ("Nothing waits for a person" in html, "Match it" in html) == (True, False)


def test_a_property_that_the_platform_has_not_confirmed_differs_from_nothing(main, four, boss):
    page = boss.get(f"/admin/properties/property/{four['here'].pk}/change/")
    assert page.context["sync"]["differences"] != []
    assert page.context["overview"]["differing_count"] == 0
    html = page.content.decode()
    assert "The platform has not confirmed any of it yet." in html
    assert "from what the platform confirmed" not in html
    html = boss.get(f"/admin/properties/property/{four['there'].pk}/change/").content.decode()
    assert "fields agree with what the platform confirmed." in html


def test_without_anything_to_match_the_page_says_so(main, boss):
    assert "Nothing is to be matched" in boss.get(address(main)).content.decode()
    ours(main, "CRM-1", **home(1))
    text = boss.get(address(main, show="matched")).content.decode()
    assert "No pairs by address with rooms" in text


@pytest.mark.rule("I36")
def test_the_pairs_that_were_seen_are_linked_and_none_that_was_not(main, four, boss):
    seen = boss.get(address(main)).context["seen"]
    late = ours(main, "CRM-6", **home(6))
    theirs(main, 6, **home(6))
    page = boss.post(address(main), {"step": "link", "seen": seen}, follow=True)
    assert "The pairs have changed since" in page.content.decode()
    assert ("CRM-1", None) in names()
    seen = page.context["seen"]
    posted = {"step": "link", "seen": seen, "policy": "crm_wins"}
    page = boss.post(address(main), posted, follow=True)
    assert "Linked by address with rooms: 2 properties." in page.content.decode()
    assert names() == {
        *(("CRM-1", "1"), ("CRM-6", "6"), ("CRM-2", None), ("P-2", "2"), ("P-3", "3")),
        *(("CRM-4", None), ("P-5", "5")),
    }
    assert not Property.objects.filter(pk=late.pk).exists()
    assert noted() == ["Linked by address with rooms: 2 properties."]
    page = boss.post(address(main), posted, follow=True)
    assert "The pairs have changed since" in page.content.decode()
    assert not Conflict.objects.filter(decision="").exists()


def test_a_pair_that_is_not_the_same_is_set_apart_and_compared_again(main, four, boss):
    row = four["pair"]
    page = boss.post(address(main), {"apart": row.pk}, follow=True)
    assert tiles(page)["Matched"] == 0
    text = boss.get(address(main, show="here")).content.decode()
    assert "None of the platform" in text
    page = boss.post(address(main, show="matched"), {"again": row.pk}, follow=True)
    assert tiles(page)["Matched"] == 1
    assert names() >= {("CRM-1", None), ("P-1", "1")}


@pytest.mark.rule("I36")
def test_a_person_picks_for_an_ambiguous_one_what_it_is(main, four, boss):
    row = four["two"]
    posted = {"step": "decide", f"pick-{row.pk}": four["two there, too"].pk}
    page = boss.post(address(main, show="ambiguous"), posted, follow=True)
    assert "Linked by choice: 1 property." in page.content.decode()
    assert {("CRM-2", "3"), ("P-2", "2")} < names()
    assert tiles(page)["Only on the platform"] == 2


def test_a_person_says_none_of_them_or_later(main, four, boss):
    row = four["two"]
    pick = f"pick-{row.pk}"
    page = boss.post(address(main, show="ambiguous"), {"step": "decide", pick: ""}, follow=True)
    assert tiles(page)["Ambiguous"] == 1
    page = boss.post(address(main, show="ambiguous"), {"step": "decide", pick: "none"}, follow=True)
    row.refresh_from_db()
    assert (row.none_there, tiles(page)["Ambiguous"]) == (True, 0)


@pytest.mark.rule("I36")
@pytest.mark.parametrize("value", ["7777777", "x", "there", "pair there"])
def test_only_what_the_page_offers_can_be_picked(main, four, boss, value):
    value = four[value].pk if value in four else value
    before = names()
    posted = {"step": "decide", f"pick-{four['two'].pk}": value, "pick-x": 1, "pick-99": "none"}
    page = boss.post(address(main, show="ambiguous"), posted, follow=True)
    assert (page.status_code, names()) == (200, before)
    assert "Changed since: 2 properties" in page.content.decode()


@pytest.mark.rule("I36")
def test_two_of_ours_are_never_given_the_same_one_and_the_choices_stay(main, four, boss):
    others = [ours(main, f"CRM-{number}", **home(2)) for number in (7, 8, 9)]
    before = names()
    same = four["two there"].pk
    rows_ = (four["two"], *others)
    picks = (str(same), str(same), "none", "")
    chosen = {f"pick-{row.pk}": pick for row, pick in zip(rows_, picks, strict=True)}
    chosen |= {"policy": "crm_wins"}
    page = boss.post(address(main, show="ambiguous"), chosen | {"step": "decide"})
    assert [str(one) for one in page.context["messages"]] == [
        "CRM-2 and CRM-7 were given the same property of the platform, P-2."
        " Nothing was done: choose again for one of them."
    ]
    assert names() == before
    assert not Property.objects.filter(none_there=True).exists()
    read = FormReader()
    read.begins = lambda form: True
    read.feed(page.content.decode())
    assert {name: read.data[name] for name in chosen} == {n: [pick] for n, pick in chosen.items()}


@pytest.mark.rule("S17")
def test_who_may_only_view_sees_the_pairs_and_no_button_and_can_start_nothing(main, four):
    viewer = person("view_property", workspaces=[main])
    page = viewer.get(address(main))
    text = page.content.decode()
    assert ("CRM-1" in text, 'name="step"' in text, 'name="apart"' in text) == (True, False, False)
    before = names()
    seen = page.context["seen"]
    for posted in ({"step": "link", "seen": seen}, {"apart": four["pair"].pk}, {"step": "decide"}):
        assert viewer.post(address(main), posted).status_code == 403
    assert names() == before
    assert person(workspaces=[main]).get(address(main)).status_code == 403


@pytest.mark.rule("S12")
def test_a_workspace_of_others_is_not_there(main, four):
    other = Workspace.objects.create(slug="other", base_url="https://other.example")
    stranger = person("view_property", "change_property", workspaces=[other])
    assert stranger.get(address(main)).status_code == 404
    assert stranger.post(address(main), {"step": "link"}).status_code == 404
    # A key of another workspace in one's own page does nothing, either.
    stranger.post(address(other), {"apart": four["pair"].pk})
    four["pair"].refresh_from_db()
    assert four["pair"].none_there is False


def test_the_tab_is_on_the_page_of_the_workspace_and_the_plan_leads_to_it(main, four, boss):
    hold.watch_only(main.pk, now=now())
    text = boss.get(f"/admin/crm_sync/workspace/{main.pk}/pause/").content.decode()
    tab = f"/admin/properties/property/match/{main.pk}/"
    assert text.count(f'href="{tab}"') == 2
    assert re.search(r"Properties to be matched first</td><td[^>]*>2<", text)
    assert re.search(r"Properties to create</td><td[^>]*>1<", text)
    assert f'href="/admin/crm_sync/workspace/{main.pk}/pause/"' in boss.get(tab).content.decode()


def test_the_number_of_queries_does_not_grow_with_the_rows(main, boss):
    def pairs(numbers):
        for number in numbers:
            ours(main, f"CRM-{number}", **home(number))
            theirs(main, number, **home(number))

    pairs(range(1, 3))
    few = queries_of(boss, address(main))
    pairs(range(10, 80))
    assert queries_of(boss, address(main)) == few
    page = boss.get(address(main))
    assert (len(page.context["rows"]), "page=2" in page.content.decode()) == (50, True)


# --- where people are told


def test_the_page_of_an_import_and_the_overview_lead_to_the_tab(main, boss, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    theirs(main, 1, **home(1))
    user = User.objects.get(is_superuser=True)
    lines = ["objectReferenceId,address.street,address.streetNumber,address.postalCode"]
    lines = [f"{lines[0]},numberOfRooms", "CRM-1,Seestr.,1,8002,3.5", "CRM-2,Seestr.,2,8002,3.5"]
    row = upload(main, user, "\n".join(lines).encode())
    work(row)
    tab = f'href="/admin/properties/property/match/{main.pk}/"'
    page = f"/admin/properties/import/{row.pk}/change/"
    text = boss.get(page).content.decode()
    assert "1 new record looks like a property that the platform has already." in text
    assert "The platform may have these: they are created only after you have matched" in text
    assert ("like P-1 there" in text, tab in text) == (True, True)
    release(rows(row), actor=user, now=now())
    while fresh(row).state == "RUNNING":
        work(row)
    assert (counts(fresh(row).report), fresh(row).report["doubles"]) == (
        (2, 0, 0, 0),
        [["CRM-1", "P-1"]],
    )
    assert tab in boss.get(page).content.decode()
    Property.objects.filter(object_reference_id="CRM-1").update(
        wait_reason="MATCH", due_at=now() + timedelta(hours=1)
    )
    text = boss.get("/admin/").content.decode()
    assert "1 new here, and the platform may have it already" in text
    assert tab in text
