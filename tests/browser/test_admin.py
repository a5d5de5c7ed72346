"""What an agent does in the admin, in a real browser."""

import json
from datetime import timedelta
from uuid import uuid4

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import RequestFactory
from django.urls import reverse
from django.utils.timezone import now

from crm_sync.api import tokens
from crm_sync.inbox import store
from crm_sync.models import ReceivedEvent, Workspace
from crm_sync.platform.errors import ErrorKind, Problem
from orders.calendar.periods import VIEWS
from orders.models import Order, Placement
from properties.domain.editing import edit
from properties.models import Batch, Change, Conflict, Fetch, Property, Sender, Source

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def stock(transactional_db, box, drain_all) -> Workspace:
    """Return a workspace with properties, a running order and a callback not understood."""
    call_command("import_properties", make_workspace().slug, "examples/swissrets.xml")
    workspace = Workspace.objects.get()
    drain_all()
    order = "main --reference MH-1001 --user AGENT-1 --product GROUND_PHOTO --product FLOOR_PLAN"
    call_command("place_order", *order.split())
    for _ in range(2):
        box.step()
        box.deliver()
    body = json.dumps({"event": "SOMETHING_NEW"}).encode()
    how = {"headers": {}, "method": "POST", "source": ReceivedEvent.Source.CALLBACK}
    store.store(workspace.pk, body, **how, now=now())
    drain_all()
    return workspace


def make_workspace() -> Workspace:
    from crm_sync.webhook.configuration import configure
    from tests.conftest import PLATFORM, TOKEN

    workspace = Workspace.objects.create(slug="main", base_url=PLATFORM, fixed_token=TOKEN)
    configure(workspace, auth_type="HEADER", now=now())
    return workspace


def remote(box, reference: str) -> dict:
    found = box.workspace.properties.values()
    return next(p for p in found if p.get("objectReferenceId") == reference)


def test_who_leaves_unsaved_work_is_asked_and_who_saves_is_not(visit, stock):
    asked: list[str] = []
    page = visit().log_in()
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    mine = Property.objects.get(object_reference_id="MH-1002")
    address = reverse("admin:properties_property_change", args=[mine.pk])
    page.goto(f"{address}#texts")
    page.fill("[name=title]", "House with a large garden")
    orders = page.locator("#nav-sidebar-apps a:has(span:text-is('Orders'))")
    orders.click()
    page.wait_for_timeout(500)
    assert (asked, page.url.partition("#")[0].endswith(address)) == (["beforeunload"], True)
    page.click("button[name=_save]")
    page.wait_for_url("**/admin/properties/property/#texts")
    assert asked == ["beforeunload"]
    mine.refresh_from_db()
    assert mine.desired["title"] == "House with a large garden"
    page.goto(address)
    orders.click()
    page.wait_for_url("**/admin/orders/order/")
    assert asked == ["beforeunload"]


def test_an_agent_edits_a_property_and_it_reaches_the_platform(visit, box, stock, drain_all):
    window = visit()
    page = window.log_in()
    page.get_by_role("link", name="Properties").first.click()
    page.fill("[name=q]", "MH-1002")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="MH-1002").click()
    page.click(".ps-tabs >> text=Texts")
    page.fill("[name=title]", "House with a large garden")
    page.click(".ps-tabs >> text=Data")
    page.click(".ps-groups >> text=Prices")
    page.fill("[name='prices.buy.price']", "1250000")
    page.click("button[name=_continue]")
    page.wait_for_selector("text=Pending")
    assert drain_all() == {"properties": {"pushed": 1}}
    page.reload()
    page.wait_for_selector("text=In sync")
    there = remote(box, "MH-1002")
    assert (there["title"], there["prices"]["buy"]["price"]) == (
        "House with a large garden",
        1250000,
    )
    assert (window.foreign, window.errors) == ([], [])


def test_a_value_that_cannot_be_is_refused_at_its_input_and_nothing_changes(visit, stock):
    row = Property.objects.get(object_reference_id="MH-1001")
    page = visit().log_in()
    page.goto(reverse("admin:properties_property_change", args=[row.pk]))
    page.click(".ps-tabs >> text=Texts")
    page.fill("[name='localizations[0].languageCode']", "deutsch"[:2])
    page.fill("[name='localizations[1].languageCode']", "de")
    page.fill("[name='localizations[1].title']", "Again")
    page.click("button[name=_continue]")
    page.wait_for_selector(".ps-error")
    assert page.inner_text(".ps-error") == "“de” is there already: a language has one text"
    fresh = Property.objects.get(pk=row.pk)
    assert (fresh.revision, fresh.desired) == (row.revision, row.desired)


def test_a_callback_that_was_not_understood_can_be_applied_again(visit, stock):
    window = visit()
    page = window.log_in()
    page.get_by_role("link", name="Not understood").first.click()
    page.check("[name=_selected_action]")
    page.get_by_role("button", name="Apply again").click()
    page.wait_for_selector("text=A worker applies 1 event again now.")
    assert ReceivedEvent.objects.get(kind="").state == ReceivedEvent.State.RECEIVED
    assert window.errors == []


def test_an_order_shows_where_it_stands_and_how_it_got_there(visit, stock):
    order = Order.objects.get()
    page = visit().log_in()
    page.goto(reverse("admin:orders_order_change", args=[order.pk]))
    text = page.inner_text("body")
    for part in ("In progress", "Ground photo", "Floor plan", "Photographer assigned → Scheduled"):
        assert part in text


def test_an_agent_pushes_a_choice_and_follows_it_to_its_end(visit, stock, drain_all):
    for row in Property.objects.all():
        title = f"{row.desired['title']}!"
        edit(row, {"title": title}, origin=Change.Origin.FEED, now=now())
    count = Property.objects.count()
    window = visit()
    page = window.log_in()
    page.goto(reverse("admin:properties_property_changelist"))
    page.check("#action-toggle")
    page.get_by_role("button", name="Send to the platform…").click()
    page.wait_for_selector(f"text=Send {count} properties")
    page.click("text=Send them now")
    page.wait_for_selector("text=Workers do it whether this page is open or not.")
    page.wait_for_selector("progress")
    assert page.inner_text("[data-count=waiting]") == str(count)
    drain_all()
    page.wait_for_selector("text=All were handled.")
    assert page.inner_text("[data-count=done]") == str(count)
    assert (window.foreign, window.errors) == ([], [])


def test_an_agent_undoes_a_change_from_the_history(visit, stock):
    row = Property.objects.get(object_reference_id="MH-1001")
    before = row.desired["title"]
    edit(row, {"title": "A slip"}, origin=Change.Origin.FEED, now=now())
    window = visit(width=390)
    page = window.log_in()
    page.goto(reverse("admin:properties_property_history", args=[row.pk]))
    page.select_option("[name=field]", label="Title")
    page.click("text=Show")
    page.click("button:text-is('Undo') >> nth=0")
    page.wait_for_selector("text=Title is what it was before")
    row.refresh_from_db()
    assert row.desired["title"] == before
    assert window.errors == []


def test_the_counter_counts_like_the_server(visit, stock):
    row = Property.objects.get(object_reference_id="MH-1001")
    page = visit().log_in()
    page.goto(reverse("admin:properties_property_change", args=[row.pk]) + "#texts")
    counter = page.locator("[name=title] + .ps-counter")
    assert not counter.is_visible()
    for text, shown, tone in (
        ("x" * 100, "100 / 255", ""),
        ("x" * 240, "240 / 255", "near"),
        ("x" * 256, "256 / 255: 1 too many", "over"),
        # A house is one character, in UTF-16 two; blanks at the ends do not count.
        ("  " + "\N{HOUSE BUILDING}" * 255 + "  ", "255 / 255", "near"),
    ):
        page.fill("[name=title]", text)
        assert (counter.inner_text(), counter.get_attribute("data-tone")) == (shown, tone)
    page.click("button[name=_continue]")
    page.wait_for_selector("text=Pending")
    row.refresh_from_db()
    assert row.desired["title"] == "\N{HOUSE BUILDING}" * 255
    page.fill("[name=title]", "\N{HOUSE BUILDING}" * 256)
    page.click("button[name=_continue]")
    page.wait_for_selector(".ps-error")
    assert page.inner_text(".ps-error") == "Use at most 255 characters, not 256"


def every_page() -> list[str]:
    """Return the addresses of the lists, forms and pages of the admin."""
    boss = RequestFactory().get("/admin/")
    boss.user = User.objects.get(is_superuser=True)
    row = Property.objects.get(object_reference_id="MH-1001")
    change = Change.objects.filter(real_estate_property=row).earliest("pk")
    order = Order.objects.get(platform_id="1007")
    Conflict.objects.create(real_estate_property=row, path="title", ours="a" * 200, theirs="b")
    Property.objects.filter(pk=row.pk).update(
        problem={"CONFLICT": {"title": "the platform has “b”"}}
    )
    plan, running = (Batch.objects.create(kind="PUSH", confirmed_at=at) for at in (None, now()))
    plan.properties.set(Property.objects.all())
    running.properties.set(Property.objects.all())
    sender = Sender.objects.create(workspace=row.workspace, name="Agency")
    feed = {"address": "https://feeds.test/unload.zip", "is_enabled": False}
    source = Source.objects.create(workspace=row.workspace, sender=sender, **feed)
    Fetch.objects.create(workspace=row.workspace, source=source, outcome="FAILED", text="404")
    scopes = ["properties:read", "orders:write"]
    tokens.issue(row.workspace, name="ERP", scopes=scopes, now=now())
    own = [
        reverse("admin:properties_property_history", args=[row.pk]),
        reverse("admin:properties_property_undo", args=[row.pk, change.pk]) + "?field=title",
        reverse("admin:properties_conflict_decide", args=[row.pk]),
        reverse("admin:properties_property_batch", args=[plan.pk]),
        reverse("admin:properties_property_batch", args=[running.pk]),
        reverse("admin:orders_order_reschedule", args=[order.pk]),
        reverse("admin:orders_order_cancel", args=[order.pk]),
        *(f"{reverse('admin:orders_order_calendar')}?view={view}" for view in VIEWS),
    ]
    pages = [reverse("admin:index"), reverse("admin:password_change")]
    for model, screen in admin.site._registry.items():
        if not screen.has_view_permission(boss):  # a second factor is off
            continue
        name = model._meta.label_lower.replace(".", "_")
        pages.append(reverse(f"admin:{name}_changelist"))
        if screen.has_add_permission(boss):
            pages.append(reverse(f"admin:{name}_add"))
        if first := model._default_manager.order_by("pk").first():
            pages.append(reverse(f"admin:{name}_change", args=[first.pk]))
    return pages + own + placing_pages(boss.user)


TAKEN = Problem("POST /v1/orders: 400", ErrorKind.REFUSED, "The slot is taken")


def placing_pages(account: User) -> list[str]:
    """Return the steps of an order, of one property and of two."""
    product = {"id": "11", "product": "GROUND_PHOTO", "name": "Ground photos", "kind": "PHOTO"}
    product |= {"price": {"amount": 249.0, "currency": "EUR"}}
    group = uuid4()

    def begun(state: str, **columns) -> Placement:
        return Placement.objects.create(
            workspace=Workspace.objects.get(),
            object_reference_id="MH-1002",
            real_estate_property=Property.objects.get(object_reference_id="MH-1002"),
            user_platform_id="101",
            session_id="s",
            offered=[product],
            options={"billing": [{"id": "21", "label": "Invoice"}]},
            products=[product | {"quantity": 2}],
            instructions={"billing": "21"},
            state=state,
            created_by=account,
            **columns,
        )

    sent = {"confirmed_at": now(), "due_at": now() + timedelta(hours=1)}
    steps = {
        "choose": begun("DRAFT"),
        "review": begun("READY", problem="The price has changed."),
        "change": begun("UNCERTAIN", problem="It is not known."),
    }
    pages = [
        reverse(f"admin:orders_placement_{name}", args=[row.pk]) for name, row in steps.items()
    ]
    for state, columns in (("READY", {}), ("CONFIRMED", sent), ("FAILED", {"problem": TAKEN})):
        row = begun(state, group=group, **columns)
        pages.append(reverse("admin:orders_placement_change", args=[row.pk]))
    group_page = reverse("admin:orders_placement_group", args=[group])
    return [*pages, group_page, reverse("admin:orders_placement_start")]


@pytest.mark.parametrize(("width", "theme"), [(1400, "light"), (390, "dark")])
def test_no_page_asks_the_platform_or_another_host_fails_or_is_too_wide(
    visit, box, stock, width, theme
):
    box.calls.clear()
    window = visit(width=width, theme=theme)
    page = window.log_in_by_form()
    wide = {}
    for address in every_page():
        page.goto(address, wait_until="load")
        over = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        if over > 0:
            wide[address] = over
    assert (window.foreign, window.errors, wide) == ([], [], {})
    assert not box.calls


def test_before_there_is_a_workspace_the_first_page_says_what_to_do(visit, transactional_db):
    page = visit().log_in_by_form()
    text = page.inner_text("body")
    assert "add_workspace" in text
    assert "configure_webhook" in text
