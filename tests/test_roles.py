"""Who sees what: every address of the product, every role, rows in two workspaces (S12, S17)."""

import re
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.contrib import admin
from django.contrib.auth.models import User
from django.db.models import ForeignKey
from django.http import HttpResponseBase
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from lxml.html import fromstring

from crm_sync.admin.ui.scope import is_secret
from orders.models import CalendarFeed, Look, Placement, StatusChange
from orders.models.news import News
from orders.people.happenings import NewsFilter, happenings
from tests import roles
from tests.crm_sync.admin_pages import queries_of
from tests.roles import (
    addresses,
    calendar_address,
    fill,
    lists_and_forms,
    missing,
    pages,
    people,
    slug_of,
    snapshot,
    word,
)

pytestmark = [pytest.mark.django_db, pytest.mark.once]
Rows = dict[str, Any]
AGENTS = {"agent of A", "agent of B", "agent of none"}
READERS = {*AGENTS, "read-only of A"}
OPERATORS = {"operator", "superuser"}
# Who opens the list of a screen and the pages below it; each other screen is for everybody.
SCREENS = {
    "auth.user": {"superuser"},
    "auth.group": {"superuser"},
    "axes.accessattempt": {"superuser"},
    "crm_sync.authenticatorapp": set(),  # off (tests/crm_sync/test_second_factor.py)
    **dict.fromkeys(
        (
            *("crm_sync.workspace", "crm_sync.apitoken", "crm_sync.platformcall"),
            *("crm_sync.subscription", "crm_sync.outgoingmessage"),
            *("crm_sync.receivedevent", "properties.driftcheck", "properties.import"),
            *("orders.calendarfeed", "orders.personsettings", "orders.materialfile"),
            *("orders.target", "orders.targetfile"),
            "django_celery_beat.periodictask",
            *("django_celery_beat.intervalschedule", "django_celery_beat.crontabschedule"),
        ),
        OPERATORS,
    ),
}
# Pages for which it is not enough to see the row.
DOERS = dict.fromkeys(
    (
        *("orders_order_cancel", "orders_order_reschedule", "orders_order_start"),
        *("orders_placement_choose", "orders_placement_review", "orders_placement_take_back"),
        *("orders_placement_settle", "orders_placement_start", "orders_placement_search"),
        *("properties_property_undo", "properties_property_add"),
    ),
    AGENTS | OPERATORS,
) | dict.fromkeys(
    (
        *("properties_sender_add", "properties_source_add", "crm_sync_apitoken_add"),
        "orders_target_add",
        "properties_property_owners",  # a tab of the workspace
    ),
    OPERATORS,
)
POST_ONLY = {
    *("orders_platformuser_account", "orders_platformuser_read"),
    "orders_order_download",
    "properties_import_columns",
}
# Forms of Django's that nobody gets: the rows are written by workers, and nothing is deleted.
NO_FORM = re.compile(r"_(delete|add)$")
FORMS = {
    *("properties_property_add", "properties_import_add", "crm_sync_workspace_add"),
    *("properties_sender_add", "properties_source_add", "crm_sync_apitoken_add"),
    *("crm_sync_subscription_add", "orders_target_add"),
}


@pytest.fixture(autouse=True)
def files_in_memory(settings) -> None:
    memory = {"BACKEND": "django.core.files.storage.InMemoryStorage"}
    settings.STORAGES = settings.STORAGES | {"materials": memory}


@pytest.fixture
def a(db) -> Rows:
    return fill("a")


@pytest.fixture
def b(db) -> Rows:
    return fill("b")


@pytest.fixture
def who(a: Rows, b: Rows) -> dict[str, Client]:
    return people({"a": a["crm_sync.workspace"], "b": b["crm_sync.workspace"]})


def may_open(role: str, name: str) -> bool:
    """Tell whether a role opens a page, of the rows in its workspaces."""
    if NO_FORM.search(name) and name not in FORMS:
        return False
    allowed = SCREENS.get(pages()[name][0], READERS | OPERATORS)
    return role in DOERS.get(name, allowed)


def is_inside(role: str, slug: str) -> bool:
    return role in OPERATORS or role.endswith(f" {slug.upper()}")


def wrong_answer(role: str, name: str, slug: str, status: int, of_nothing: int) -> bool:
    if role == "nobody":
        return status != 302
    if name in POST_ONLY:
        return status != 405
    if not is_inside(role, slug):
        return status != of_nothing or status not in (403, 404)
    return status not in ((200, 302) if may_open(role, name) else (403, 404))


@pytest.mark.rule("S12")
def test_each_person_opens_the_rows_of_their_workspaces_and_every_other_is_not_there(a, b, who):
    nowhere, there = missing(a), {"a": addresses(a), "b": addresses(b)}
    wrong = []
    for role, client in who.items():
        for name, address in nowhere.items():
            of_nothing = client.get(address).status_code
            for slug, paths in there.items():
                status = client.get(paths[name]).status_code
                if wrong_answer(role, name, slug, status, of_nothing):
                    wrong.append((role, name, slug, status, of_nothing))
    assert wrong == []


def test_each_list_opens_for_who_may_see_its_rows_and_for_nobody_else(a, b, who):
    wrong = []
    for model in admin.site._registry:
        label = model._meta.label_lower
        address = reverse(f"admin:{label.replace('.', '_')}_changelist")
        for role, client in who.items():
            status = client.get(address).status_code
            allowed = SCREENS.get(label, READERS | OPERATORS)
            expected = 302 if role == "nobody" else 200 if role in allowed else 403
            wrong += [(role, label, status)] if status != expected else []
    assert wrong == []


def test_every_screen_says_how_its_rows_belong_to_a_workspace():
    without = {
        model._meta.label_lower
        for model, screen in admin.site._registry.items()
        if getattr(screen, "workspace_path", None) is None
    }
    assert without == {
        *("auth.user", "auth.group", "orders.calendarfeed", "orders.personsettings"),
        *("django_celery_beat.periodictask", "django_celery_beat.intervalschedule"),
        *("django_celery_beat.crontabschedule", "axes.accessattempt", "crm_sync.authenticatorapp"),
    }


def every_question(rows: Rows, username: str) -> list[str]:
    """Return all that a person can ask for: pages of rows, lists, searches, choices, feeds."""
    lists = lists_and_forms()
    narrowed = [f"?q=word&workspace={slug_of(slug)}" for slug in "ab"]
    by = f"/admin/orders/order/?by={rows['orders.platformuser'].pk}"
    return [
        *("/admin/", calendar_address(username), by, "/admin/search/?s=word&extended=1"),
        *addresses(rows).values(),
        *lists,
        *(f"{one}{query}" for one in lists for query in ("?q=word&term=word", *narrowed)),
        *(f"/admin/orders/order/calendar/?view=list&workspace={slug_of(slug)}" for slug in "ab"),
        *(f"/admin/autocomplete/?term=word&{of}" for of in _relations()),
    ]


def _relations() -> list[str]:
    return [
        f"app_label={model._meta.app_label}&model_name={model._meta.model_name}&field_name={one.name}"
        for model in roles.ours()
        for one in model._meta.fields
        if isinstance(one, ForeignKey)
    ]


def text_of(answer: HttpResponseBase) -> str:
    return b"".join(answer).decode(errors="replace")  # type: ignore[call-overload]


@pytest.mark.rule("S17")
@pytest.mark.parametrize("role", ["agent of A", "read-only of A", "agent of none"])
def test_no_answer_holds_a_word_of_a_workspace_of_others(a, b, who, role):
    others = [slug for slug in "ab" if not is_inside(role, slug)]
    forbidden = [mark for slug in others for mark in (word(slug), slug_of(slug))]
    questions = {one for rows in (a, b) for one in every_question(rows, role.replace(" ", "-"))}
    leaks = []
    closed: set[str] = set()  # lists that this person may not open, whatever is asked of them
    for question in sorted(questions):
        path, _, asked = question.partition("?")
        if asked and path in closed:
            continue
        answer = who[role].get(question, follow=True)
        if not asked and answer.status_code == 403:
            closed.add(path)
        text = text_of(answer)
        leaks += [(question, one) for one in forbidden if one in text and one not in question]
    assert leaks == []


def test_an_operator_finds_the_words_of_both_workspaces(a, b, who):
    found: set[str] = set()
    for question in every_question(b, "operator"):
        text = text_of(who["operator"].get(question, follow=True))
        found |= {mark for mark in (word("a"), word("b")) if mark in text}
        if len(found) == 2:
            break  # else the test above would look for words that no page shows
    assert found == {word("a"), word("b")}


SAVING = {"orders_order_file", "orders_order_zip"}
MOVING = re.compile(r'csrfmiddlewaretoken" value="[^"]*"')


def as_it_stands(client: Client, questions: list[str]) -> dict[str, str]:
    return {one: MOVING.sub("", text_of(client.get(one, follow=True))) for one in questions}


@pytest.mark.rule("S12")
def test_rows_of_others_change_no_page_and_no_figure(a):
    somewhere = {"a": a["crm_sync.workspace"], "b": a["crm_sync.workspace"]}
    mine = people(somewhere)["agent of A"]
    lists = lists_and_forms()
    # Who saves files is written to the history of their order, which is one of these pages.
    asked = {name: page for name, page in addresses(a).items() if name not in SAVING}
    questions = ["/admin/", *lists, *asked.values()]
    with time_machine.travel(timezone.now(), tick=False):
        as_it_stands(mine, questions)  # what the first look at an order writes
        before = as_it_stands(mine, questions)
        fill("b")
        after = as_it_stands(mine, questions)
    assert [one for one in questions if before[one] != after[one]] == []


def test_no_mail_tells_of_a_workspace_of_others(a, b, who):
    StatusChange.objects.update(news=News.CANCELLED, created_at=timezone.now())
    Placement.objects.filter(state="UNCERTAIN").update(uncertain_at=timezone.now())
    hour = timedelta(hours=1)
    times = (timezone.now() - hour, timezone.now() + hour)
    told = {
        role: {
            one.order or one.reference[: len(word("a"))]
            for one in happenings(NewsFilter(person_of(role), tuple(News), False, *times), limit=99)
        }
        for role in (*READERS, "operator")
    }
    of_a, of_b = ({f"{word(slug)}-o", word(slug)} for slug in "ab")
    assert told == {
        **{"agent of A": of_a, "read-only of A": of_a, "agent of B": of_b},
        **{"agent of none": set(), "operator": of_a | of_b},
    }


def person_of(role: str) -> User:
    return User.objects.get(username=role.replace(" ", "-"))


# Whatever a page may be asked to do; a page takes what it knows.
ORDERS = (
    {"action": "configure", "decision": "ours", "step": "place", "do": "renew", "order": "1"},
    {"step": "send", "confirmed": "1", "leave_out": "warned", "account": "nobody", "seen": "x"},
    {"step": "take_back", "action": "disable", "revision": "0", "title": "other"},
    {"step": "load", "action": "rotate", "post": "yes"},
)


def everything_tried(client: Client, rows: Rows) -> None:
    """Post to each page of the rows, and each action of each list with the rows chosen."""
    for name, address in addresses(rows).items():
        for posted in ORDERS:
            client.post(address, posted)
        assert name
    begun = {"property": rows["properties.property"].pk}
    client.post("/admin/orders/placement/begin/", begun)
    client.post("/admin/orders/placement/start/", begun)
    client.post("/admin/orders/platformuser/read/")
    for label, screen in roles.SCREENS.items():
        if label in rows:
            address = reverse(f"admin:{label.replace('.', '_')}_changelist")
            names = {*(one if isinstance(one, str) else one.__name__ for one in screen.actions)}
            for action in sorted(names | {"order"}):
                chosen = {"action": action, "_selected_action": rows[label].pk}
                client.post(address, chosen)
                client.post(address, chosen | {"confirmed": "1", "select_across": "1"})


@pytest.mark.rule("S17")
def test_who_only_reads_changes_nothing(a, b, who):
    before = snapshot(but=(Look, CalendarFeed))
    everything_tried(who["read-only of A"], a)
    everything_tried(who["read-only of A"], b)
    assert snapshot(but=(Look, CalendarFeed)) == before


@pytest.mark.rule("S17")
def test_who_may_only_look_at_everything_is_offered_no_button_but_those_of_their_own(a):
    client = roles.viewer(a["crm_sync.workspace"])
    offered = set()
    for address in (*addresses(a).values(), *lists_and_forms()):
        answer = client.get(address)
        if "html" in answer.get("Content-Type", "") and answer.content.strip():
            found = fromstring(answer.content).xpath("//form[@method='post']//button[@name]")
            offered |= {one.get("value") for one in found}
    exports = {one for one in offered if str(one).startswith("export_")}
    own = {"save", "columns", "renew", "use", "dismiss"}  # views, a calendar address, the zone
    assert offered - exports == own | {None}  # the button that starts an export


@pytest.mark.rule("S17")
def test_no_form_of_djangos_writes_a_row_that_only_workers_write(a, who):
    before = snapshot()
    for label in ("crm_sync.receivedevent", "orders.order", "orders.placement"):
        listed = reverse(f"admin:{label.replace('.', '_')}_changelist")
        for place in ("add", f"{a[label].pk}/change", f"{a[label].pk}/delete"):
            answer = who["superuser"].post(f"{listed}{place}/", {"post": "yes", "state": "APPLIED"})
            assert (label, place, answer.status_code) == (label, place, 403)
    assert snapshot() == before


@pytest.mark.rule("S17")
def test_only_programs_and_the_platform_need_no_token_against_forged_requests(settings):
    assert "django.middleware.csrf.CsrfViewMiddleware" in settings.MIDDLEWARE
    exempt = {
        route.partition("/")[0]
        for route, pattern in roles.routes()
        if getattr(pattern.callback, "csrf_exempt", False)
    }
    assert exempt == {"api", "webhooks"}


@pytest.mark.rule("S17")
def test_an_agent_changes_nothing_of_another_workspace(a, b, who):
    def of_b() -> dict[str, Any]:
        return {
            label: [one for one in rows if word("b") in repr(one) or slug_of("b") in repr(one)]
            for label, rows in snapshot(but=(Look,)).items()
        }

    before = of_b()
    everything_tried(who["agent of A"], b)
    assert of_b() == before


def secret_columns() -> list[tuple[str, str]]:
    """Return the list of each model that has a secret, and the name of its column."""
    found = [
        (reverse(f"admin:{model._meta.label_lower.replace('.', '_')}_changelist"), field.name)
        for model in admin.site._registry
        for field in model._meta.concrete_fields
        if is_secret(field) or field.name == "password"
    ]
    assert {name for _, name in found} >= {
        *("fixed_token", "auth_secret", "uuid", "password", "token_digest")
    }
    return found


@pytest.mark.rule("S5")
def test_no_page_loads_a_secret_so_none_can_show_one(a, who, settings):
    """While no key decrypts the stored secrets, a page that loads one would be an error."""
    settings.SECRET_KEYS_AT_REST = ["MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="]
    who["superuser"].raise_request_exception = False
    pages_there = (*addresses(a).values(), *lists_and_forms())
    failed = [one for one in pages_there if who["superuser"].get(one).status_code >= 500]
    assert failed == []


def test_each_list_and_the_overview_take_as_many_queries_for_more_rows(a, b, admin_client):
    lists = [f"admin:{name.replace('.', '_')}_changelist" for name in roles.SCREENS]
    asked = ["/admin/", *map(reverse, lists)]
    before = {one: queries_of(admin_client, one) for one in asked}
    fill("c")
    assert {one: queries_of(admin_client, one) for one in asked} == before


@pytest.mark.rule("S5")
def test_no_address_asks_for_a_part_of_a_secret(a, admin_client, settings):
    """Whoever sees a list could else find a secret letter by letter (S5)."""
    settings.ADMIN_SECOND_FACTOR = "optional"  # else one of the lists is not there
    for address, name in secret_columns():
        for lookup in ("startswith", "gt", "regex", "isnull"):
            answer = admin_client.get(f"{address}?{name}__{lookup}=1")
            refused = answer.status_code == 302 and answer["Location"].endswith("?e=1")
            assert refused or answer.status_code == 400, (address, name, lookup)
