"""The page that decides conflicts: a side for each member, of one property or of a selection."""

import json
import re

import pytest
from django.contrib.auth.models import Permission, User
from django.urls import reverse
from django.utils.timezone import now

from crm_sync.models import Workspace
from properties.domain import conflicts
from properties.domain.conflicts import Decision
from properties.domain.editing import create, edit
from properties.models import Change, Conflict, Property
from tests.crm_sync.admin_pages import queries_of
from tests.problems import noted

PAGE = "/admin/properties/conflict/decide/"
LIST = "/admin/properties/conflict/"
LOCALIZED = [{"languageCode": "de", "title": "Haus"}, {"languageCode": "fr", "title": "Maison"}]


@pytest.fixture
def row(box, workspace, drain_all) -> Property:
    """Return a property with open conflicts at its title, its rent and its texts."""
    Workspace.objects.update(conflict_policy="ask")
    rent = {"gross": 100, "net": 80, "extra": 20}
    first = {"title": "Flat", "prices.rent": rent, "localizations": LOCALIZED}
    row = create(workspace, "A-1", first, origin="ADMIN", now=now())
    drain_all()
    theirs = {"title": "Theirs", "prices": {"rent": {"gross": 120, "net": 80, "extra": 40}}}
    theirs["localizations"] = [LOCALIZED[0] | {"title": "Villa"}, LOCALIZED[1]]
    box.edit_property(remote(box)["id"], theirs)
    ours = {"title": "Ours", "prices.rent": {"gross": 90, "net": 70, "extra": 20}}
    ours["localizations"] = [LOCALIZED[0], LOCALIZED[1] | {"title": "Château"}]
    edit(row, ours, origin="ADMIN", now=now())
    drain_all()
    row.refresh_from_db()
    box.calls.clear()
    return row


def remote(box, reference: str = "A-1") -> dict:
    found = box.workspace.properties.values()
    return next(one for one in found if one.get("objectReferenceId") == reference)


def sent(box) -> list[dict]:
    """Return the bodies of the PATCHes that reached the platform."""
    return [call[2] for call in box.calls if call[0] == "PATCH"]


def address(row: Property) -> str:
    return f"{PAGE}{row.pk}/"


def form(page) -> dict[str, str]:
    """Return the hidden inputs of the page, as a browser would post them."""
    found = re.findall(r'type="hidden" name="(seen[^"]*)" value="([^"]*)"', page.content.decode())
    return dict(found)


def sides(**chosen: dict[str, str]) -> dict[str, str]:
    """Return the inputs that choose a side: leaf to name of a member to side."""
    posted = {}
    for leaf, members in chosen.items():
        conflict = Conflict.objects.get(path=leaf.replace("__", "."), decision="")
        names = [member.name for member in conflicts.members(conflict)]
        for name, side in members.items():
            posted[f"side-{conflict.pk}-{names.index(name)}"] = side
    return posted


def press(client, row: Property, button: str, **chosen: dict[str, str]):
    """Open the page, choose, press a button, and follow where it leads."""
    posted = form(client.get(address(row))) | sides(**chosen)
    return client.post(PAGE, posted | {"decision": button}, follow=True)


def fields_of(page) -> list[dict]:
    return [field for case in page.context["cases"] for field in case["fields"]]


def result_of(page) -> dict:
    return page.context["cases"][0]["result"]


def said(page) -> list[str]:
    return [str(message) for message in page.context["messages"]]


def open_fields() -> list[str]:
    return list(
        Conflict.objects.filter(decision="").order_by("path").values_list("path", flat=True)
    )


def test_only_the_members_that_differ_are_shown(row, admin_client):
    fields = fields_of(admin_client.get(address(row)))
    shown = {
        field["path"]: [
            (member["name"], *(side["text"] for side in member["sides"]), member["before"])
            for member in field["members"]
        ]
        for field in fields
    }
    assert shown == {
        "localizations": [
            ("de · title", "Haus", "Villa", "Haus"),
            ("fr · title", "Château", "Maison", "Maison"),
        ],
        "prices.rent": [
            ("Gross", "90", "120", "100"),
            ("Net", "70", "80", "80"),
            ("Additional costs", "20", "40", "20"),
        ],
        "title": [("", "Ours", "Theirs", "Flat")],
    }


OURS = {"title": "Ours", "prices": {"rent": {"gross": 90, "net": 70, "extra": 20}}}
OURS["localizations"] = [LOCALIZED[0], LOCALIZED[1] | {"title": "Château"}]


@pytest.mark.parametrize(("side", "body"), [("OURS", OURS), ("THEIRS", None)])
def test_one_side_for_all_is_shown_first_and_the_body_that_is_shown_goes_out(
    box, row, admin_client, drain_all, side, body
):
    page = press(admin_client, row, side)
    shown = result_of(page)["body"]
    assert (json.loads(shown) if shown else None, len(open_fields())) == (body, 3)
    chosen = [(member["field"], side) for one in fields_of(page) for member in one["members"]]
    admin_client.post(PAGE, {**form(page), **dict(chosen), "decision": "CHOSEN"})
    drain_all()
    assert sent(box) == ([body] if body else [])
    assert set(Conflict.objects.values_list("decision", "decided_by__username")) == {
        (side, "admin")
    }
    fresh = Property.objects.get()
    assert (fresh.problem, fresh.desired["title"]) == ({}, side.title())
    assert noted() == [f"Decided: {side.lower()}."] * 3
    assert remote(box)["title"] == side.title()


def test_a_selection_of_the_list_is_decided_on_the_same_page(
    box, row, workspace, admin_client, drain_all
):
    other = create(workspace, "A-2", {"title": "Other"}, origin="ADMIN", now=now())
    drain_all()
    box.edit_property(remote(box, "A-2")["id"], {"title": "Theirs"})
    edit(other, {"title": "Ours"}, origin="ADMIN", now=now())
    drain_all()
    keys = [str(pk) for pk in Conflict.objects.filter(path="title").values_list("pk", flat=True)]
    page = admin_client.post(LIST, {"action": "decide", "_selected_action": keys})
    assert [str(case["property"]) for case in page.context["cases"]] == ["A-1", "A-2"]
    assert len(open_fields()) == 4
    both = {f"side-{key}-0": "THEIRS" for key in keys}
    done = admin_client.post(PAGE, {**form(page), **both, "decision": "CHOSEN"})
    assert done.headers["Location"] == LIST
    titles = Property.objects.values_list("desired__title", flat=True)
    assert (set(titles), open_fields()) == ({"Theirs"}, ["localizations", "prices.rent"])
    across = {"action": "decide", "_selected_action": keys[:1], "select_across": "1"}
    assert admin_client.post(LIST, across).context["count"] == 2


def test_the_list_shows_all_three_values_and_leads_to_the_page(row, admin_client):
    text = admin_client.get(LIST).content.decode()
    for part in ("A-1: Title", "Ours", "Theirs", "Flat", f"{PAGE}{row.pk}/"):
        assert part in text


@pytest.mark.parametrize(
    ("searched", "language", "paths"),
    [
        ("texts", "en", {"localizations"}),
        ("Überschrift", "de", set()),
        ("titel", "de", {"title"}),
        ("title", "de", {"title"}),
        ("A-1", "en", {"localizations", "title"}),
        ("&", "en", set()),
    ],
)
def test_the_list_is_searched_by_reference_and_by_the_name_of_a_field(
    main, admin_client, searched, language, paths
):
    property_ = create(main, "A-1", {"title": "Flat"}, origin="ADMIN", now=now())
    for path in ("localizations", "title"):
        Conflict.objects.create(real_estate_property=property_, path=path, ours="1", theirs="2")
    page = admin_client.get(LIST, {"q": searched}, headers={"accept-language": language})
    assert {one.path for one in page.context["cl"].result_list} == paths


def test_a_viewer_sees_the_values_and_can_choose_nothing(row, client):
    viewer = User.objects.create_user("viewer", is_staff=True)
    codenames = ("view_conflict", "all_workspaces")
    viewer.user_permissions.add(*Permission.objects.filter(codename__in=codenames))
    client.force_login(viewer)
    page = client.get(address(row))
    text = page.content.decode()
    assert ("Château" in text, 'type="radio"' in text) == (True, False)
    answer = client.post(PAGE, form(page) | sides(title={"": "OURS"}) | {"decision": "CHOSEN"})
    client.post(LIST, {"action": "decide", "_selected_action": [Conflict.objects.first().pk]})
    assert (answer.status_code, len(open_fields())) == (403, 3)


def test_a_rent_of_both_sides_is_one_edit_and_the_others_stay_open(
    box, row, admin_client, drain_all
):
    rent = {"Gross": "OURS", "Net": "OURS", "Additional costs": "THEIRS"}
    page = press(admin_client, row, "CHOSEN", prices__rent=rent)
    assert said(page) == ["1 conflict is decided.", "2 conflicts are still open."]
    assert open_fields() == ["localizations", "title"]
    made = {"gross": 90, "net": 70, "extra": 40}
    change = Change.objects.filter(path="prices.rent").latest("pk")
    conflict = Conflict.objects.get(path="prices.rent")
    assert (conflict.decision, conflict.decided_by.username) == ("BOTH", "admin")
    assert (change.new, change.note) == (made, f"conflict {conflict.pk}: from both")
    drain_all()
    assert sent(box) == [{"prices": {"rent": made}}]
    assert remote(box)["prices"]["rent"] == made
    assert remote(box)["title"] == "Theirs"


def test_several_fields_are_decided_in_one_commit_and_go_out_in_one_patch(
    box, row, admin_client, drain_all
):
    texts = {"de · title": "THEIRS", "fr · title": "OURS"}
    rent = dict.fromkeys(["Gross", "Net", "Additional costs"], "THEIRS")
    page = press(
        admin_client, row, "CHOSEN", title={"": "OURS"}, localizations=texts, prices__rent=rent
    )
    assert said(page) == ["3 conflicts are decided."]
    assert page.request["PATH_INFO"] == reverse("admin:properties_property_change", args=[row.pk])
    decisions = dict(Conflict.objects.values_list("path", "decision"))
    assert decisions == {"title": "OURS", "localizations": "BOTH", "prices.rent": "THEIRS"}
    drain_all()
    both = [{"languageCode": "de", "title": "Villa"}, {"languageCode": "fr", "title": "Château"}]
    assert sent(box) == [{"title": "Ours", "localizations": both}]
    assert Property.objects.get().problem == {}


def test_the_preview_shows_the_result_and_decides_nothing(box, row, admin_client, drain_all):
    before = Property.objects.values().get()
    rent = {"Gross": "OURS", "Net": "THEIRS"}
    page = press(admin_client, row, "preview", title={"": "OURS"}, prices__rent=rent)
    result = result_of(page)
    assert [(one["name"], one["value"], one["then"]) for one in result["rows"]] == [
        ("Rent", "", "Stays open: 1 of 3 not chosen yet"),
        ("Title", "Ours", "Sent to the platform"),
    ]
    assert (page.context["left"], json.loads(result["body"])) == (2, {"title": "Ours"})
    assert Property.objects.values().get() == before
    assert len(open_fields()) == 3
    assert not box.calls
    # What was chosen is still chosen.
    assert page.content.decode().count("checked") == 3
    press(admin_client, row, "CHOSEN", title={"": "OURS"})
    drain_all()
    assert sent(box) == [{"title": "Ours"}]


def test_nothing_chosen_decides_nothing(row, admin_client):
    page = press(admin_client, row, "CHOSEN", prices__rent={"Net": "OURS"})
    assert said(page) == ["Nothing was decided: choose a side of at least one field."]
    assert len(open_fields()) == 3


def test_what_somebody_else_decided_meanwhile_is_said_and_my_choice_is_kept(row, admin_client):
    posted = form(admin_client.get(address(row)))
    posted |= sides(title={"": "THEIRS"}, localizations={"fr · title": "OURS"})
    other = User.objects.create(username="other")
    title = Conflict.objects.get(path="title")
    conflicts.decide([conflicts.of_side(title, Decision.OURS)], actor=other, now=now())
    page = admin_client.post(PAGE, posted | {"decision": "CHOSEN"})
    assert said(page)[0] == "Title: other has decided it (ours)."
    assert open_fields() == ["localizations", "prices.rent"]
    assert Property.objects.get().desired["title"] == "Ours"
    texts = fields_of(page)[0]["members"][1]["sides"]
    assert [side["chosen"] for side in texts] == [True, False]


def test_a_value_that_is_newer_now_is_shown_and_has_to_be_chosen_again(row, admin_client):
    posted = form(admin_client.get(address(row)))
    rent = dict.fromkeys(["Gross", "Net", "Additional costs"], "OURS")
    posted |= sides(title={"": "THEIRS"}, prices__rent=rent)
    Conflict.objects.filter(path="title").update(theirs="Newer")
    page = admin_client.post(PAGE, posted | {"decision": "CHOSEN"})
    fields = {field["path"]: field for field in fields_of(page)}
    assert [field for field, one in fields.items() if one["is_changed"]] == ["title"]
    assert not any(side["chosen"] for side in fields["title"]["members"][0]["sides"])
    assert fields["prices.rent"]["members"][0]["sides"][0]["chosen"]
    assert len(open_fields()) == 3
    assert Property.objects.get().desired["title"] == "Ours"


def test_a_conflict_that_both_sides_settled_meanwhile_says_so(box, row, admin_client, drain_all):
    posted = form(admin_client.get(address(row))) | sides(title={"": "OURS"})
    box.edit_property(remote(box)["id"], {"title": "Ours"})
    Property.objects.update(due_at=now())
    drain_all()
    page = admin_client.post(PAGE, posted | {"decision": "CHOSEN"})
    assert said(page)[0] == "Title: both sides agree by now (Platform)."


@pytest.mark.rule("I4")
def test_who_decides_on_values_that_have_just_changed_changes_nothing(row):
    """The last moment between the look at the page and the commit."""
    seen = Conflict.objects.get(path="title")
    Conflict.objects.filter(pk=seen.pk).update(theirs="Newer")
    me = User.objects.create(username="me")
    before = Property.objects.values().get()
    for side in (Decision.OURS, Decision.THEIRS):
        decided = conflicts.decide([conflicts.of_side(seen, side)], actor=me, now=now())
        assert (decided.done, decided.refused, decided.late) == ([], [], [seen])
    assert Conflict.objects.get(pk=seen.pk).decision == ""
    assert Property.objects.values().get() == before


def test_a_value_that_we_could_not_send_stays_open_and_the_others_are_decided(row, admin_client):
    Conflict.objects.filter(path="title").update(theirs="x" * 300)
    chosen = {"title": {"": "THEIRS"}, "localizations": {"de · title": "OURS"}}
    chosen["localizations"]["fr · title"] = "OURS"
    preview = result_of(press(admin_client, row, "preview", **chosen))
    assert preview["faults"] == ["Title: Use at most 255 characters, not 300"]
    assert [(one["name"], one["then"]) for one in preview["rows"]] == [
        ("Texts", "Sent to the platform"),
        ("Title", "Stays open"),
    ]
    page = press(admin_client, row, "CHOSEN", **chosen)
    assert said(page) == [
        "Title stays open: title: Use at most 255 characters, not 300",
        "1 conflict is decided.",
        "2 conflicts are still open.",
    ]
    assert open_fields() == ["prices.rent", "title"]


def test_each_field_leads_to_its_input(row, admin_client):
    fields = fields_of(admin_client.get(address(row)))
    change = reverse("admin:properties_property_change", args=[row.pk])
    tabs = {field["path"]: field["form"].removeprefix(change) for field in fields}
    assert tabs == {"localizations": "#texts", "prices.rent": "#prices", "title": "#texts"}
    text = admin_client.get(change).content.decode()
    assert all(f'id="{tab[1:]}-group"' in text for tab in tabs.values())


def test_the_page_asks_the_database_the_same_whatever_the_number_of_conflicts(row, admin_client):
    few = queries_of(admin_client, address(row))
    values = {"real_estate_property": row, "ours": "a", "theirs": "b"}
    Conflict.objects.bulk_create(Conflict(path=f"field{n}", **values) for n in range(100))
    assert queries_of(admin_client, address(row)) == few
