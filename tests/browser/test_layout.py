"""What a person sees at a glance: nothing lies on something else, is cut, or stands askew."""

from datetime import timedelta
from time import sleep

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils.timezone import localdate, now
from playwright.sync_api import Page, Route

from crm_sync.models import Gap, Subscription
from orders.models import Assignment, Order, PersonSettings
from properties.models import Conflict, Property, Sender, Source
from tests.browser.test_admin import placing_pages, stock  # noqa: F401 - a fixture
from tests.browser.test_gallery import delivered, folder  # noqa: F401 - fixtures
from tests.browser.test_languages import HIDDEN, OVER
from tests.properties.form_page import make

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
CHANGES = "properties_property_changes"
THUMB = 44  # px
# In how many lines the text of each element is.
LINES = """all => all.map((one) => {
    const range = document.createRange();
    range.selectNodeContents(one);
    return new Set([...range.getClientRects()].map((line) => line.top)).size;
})"""
THREE_LINES = 80  # px of a cell, with its padding
LONG = "House with a large garden and a view of the lake"


def boxes(page: Page, selector: str) -> list[dict[str, float]]:
    """Return the places of all that is visible: left, top, right and bottom."""
    found = (
        page.locator(selector)
        .filter(visible=True)
        .evaluate_all("all => all.map((one) => one.getBoundingClientRect().toJSON())")
    )
    return [{name: box[name] for name in ("left", "top", "right", "bottom")} for box in found]


def overlaps(one: dict[str, float], other: dict[str, float]) -> bool:
    """Return whether both take the same place; a touching edge does not count."""
    across = min(one["right"], other["right"]) - max(one["left"], other["left"])
    return across > 1 and min(one["bottom"], other["bottom"]) - max(one["top"], other["top"]) > 1


def answer_late(route: Route) -> None:
    """Let a font come after the page was first drawn, with narrower letters."""
    sleep(0.3)
    route.continue_()


def test_no_badge_lies_on_another_one_on_the_card_of_an_order(visit, stock):  # noqa: F811
    Order.objects.update(status="IN_PROGRESS", is_confirmed=False)
    Assignment.objects.update(status="SCHEDULED", is_confirmed=False)
    page = visit(width=390).log_in()
    page.goto(reverse("admin:orders_order_changelist"))
    shown = boxes(page, "#result_list .cs-badge")
    assert len(shown) >= 2
    pairs = [(one, other) for n, one in enumerate(shown) for other in shown[n + 1 :]]
    assert [pair for pair in pairs if overlaps(*pair)] == []


@pytest.mark.parametrize(("theme", "scheme"), [("light", "normal"), ("dark", "dark")])
def test_what_the_browser_draws_is_dark_on_a_dark_page(visit, stock, theme, scheme):  # noqa: F811
    home = Property.objects.get(object_reference_id="MH-1003")
    Conflict.objects.create(real_estate_property=home, path="title", ours="a", theirs="b")
    page = visit(theme=theme).log_in()
    page.goto(reverse("admin:properties_conflict_decide", args=[home.pk]))
    radio = page.locator("input[type=radio]").first
    assert radio.evaluate("one => getComputedStyle(one).colorScheme") == scheme


def test_the_name_of_a_cell_keeps_its_line_beside_a_long_value(visit, stock):  # noqa: F811
    home = Property.objects.get(object_reference_id="MH-1003")
    Conflict.objects.create(real_estate_property=home, path="title", ours=LONG, theirs="b")
    page = visit(width=390).log_in()
    page.goto(reverse("admin:properties_conflict_changelist"))
    cell = page.locator("#result_list td.field-ours_")
    looks = cell.evaluate(
        "one => [getComputedStyle(one, '::before').flexShrink, getComputedStyle(one).textAlign]"
    )
    assert looks == ["0", "right"]


def test_on_a_phone_the_header_names_the_property_in_full(visit, stock):  # noqa: F811
    home = Property.objects.get(object_reference_id="MH-1003")
    page = visit(width=390).log_in()
    page.goto(reverse("admin:properties_property_change", args=[home.pk]))
    name = page.locator("#header-inner h1 > :last-child")
    assert name.inner_text() == "MH-1003"
    assert name.evaluate("one => one.scrollWidth <= one.clientWidth")


def test_on_a_phone_the_open_tab_of_a_property_is_seen_whole(visit, stock):  # noqa: F811
    home = Property.objects.get(object_reference_id="MH-1001")
    page = visit(width=390).log_in()
    page.route("**/*.woff2*", answer_late)
    page.goto(reverse("admin:properties_property_change", args=[home.pk]) + "#history")
    page.wait_for_load_state("networkidle")
    [row] = boxes(page, ".ps-tabs")
    [tab] = boxes(page, ".ps-tabs [aria-current]")
    assert row["left"] <= tab["left"]
    assert tab["right"] <= row["right"]


def test_an_appointment_and_an_interval_take_few_lines(visit, stock):  # noqa: F811
    order = Order.objects.get()
    Assignment.objects.update(scheduled_at=now(), status="SCHEDULED")
    hour = timedelta(hours=1)
    Gap.objects.create(
        workspace=stock, why="ERASED", began_at=now() - hour, ended_at=now(), noticed_at=now()
    )
    page = visit().log_in()
    page.goto(
        reverse("admin:properties_property_change", args=[order.real_estate_property_id])
        + "#orders"
    )
    [appointment] = boxes(page, "[data-part] td[data-label='Next appointment']")[:1]
    page.goto(reverse("admin:crm_sync_workspace_gaps", args=[stock.pk]))
    [interval] = boxes(page, "td[data-label=Interval]")[:1]
    assert appointment["bottom"] - appointment["top"] < THREE_LINES
    assert interval["bottom"] - interval["top"] < THREE_LINES


def test_the_numbers_of_a_row_of_tiles_are_level(visit, stock):  # noqa: F811
    page = visit().log_in()
    page.goto(reverse("admin:properties_property_match", args=[stock.pk]))
    assert len({round(one["top"]) for one in boxes(page, ".cs-tile strong")}) == 1


def test_a_page_with_a_form_has_one_purple_button(visit, stock):  # noqa: F811
    sender = Sender.objects.create(workspace=stock, name="Agency")
    address = "https://feeds.test/unload.zip"
    source = Source.objects.create(
        workspace=stock, sender=sender, address=address, is_enabled=False
    )
    there = Subscription.objects.create(
        workspace=stock, address="https://erp.test/", kinds=[], is_enabled=False
    )
    page = visit().log_in()
    for name, row in (("properties_source", source), ("crm_sync_subscription", there)):
        page.goto(reverse(f"admin:{name}_change", args=[row.pk]))
        purple = (
            page.locator("button")
            .filter(visible=True)
            .evaluate_all(
                "all => all.filter((one) => one.name === '_save'"
                " || one.classList.contains('cs-button')).map((one) => one.textContent.trim())"
            )
        )
        assert purple == ["Save"]


def test_all_prices_of_a_list_have_one_weight(visit, stock):  # noqa: F811
    page = visit().log_in()
    page.goto(reverse("admin:properties_property_changelist"))
    prices = page.locator("#result_list td.field-price")
    assert prices.count() == page.locator("td.field-price .cs-first").count() == 6


def test_the_list_of_properties_has_room_for_long_words(visit, stock):  # noqa: F811
    home = Property.objects.get(object_reference_id="MH-1002")
    home.desired["title"] = LONG
    home.desired["address"] |= {"street": "Old Road by the Stream and the Mill"}
    home.desired["prices"]["buy"]["price"] = 12_480_000
    home.problem = {"DIFFERS": {"localizations": f"the platform has {LONG}"}}
    home.pushed_at = now() - timedelta(days=90)  # a date is longer than "3 d ago"
    home.save(update_fields=["desired", "problem", "pushed_at"])
    page = visit().log_in()
    page.goto(reverse("admin:properties_property_changelist"))
    [table] = boxes(page, "#result_list")
    [around] = boxes(page, ":has(> #result_list)")
    assert table["right"] <= around["right"]
    assert page.locator(".field-waiting >> text=the platform has").count() == 1


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_hint_in_an_input_is_no_typed_text(visit, stock, theme):  # noqa: F811
    page = visit(theme=theme).log_in()
    page.goto(reverse("admin:properties_property_changelist"))
    look = (
        "(one, part) => { const s = getComputedStyle(one, part); return [s.color, s.fontWeight] }"
    )
    field = page.locator("[name=q]")
    hint = field.evaluate(look, "::placeholder")
    typed = field.evaluate(look)
    assert (hint[0] != typed[0], hint[1], typed[1]) == (True, "400", "500")


def test_a_long_title_and_the_actions_stand_beside_the_picture(visit, delivered):  # noqa: F811
    home = delivered.real_estate_property
    home.desired["title"] = f"{LONG}, {LONG}"
    home.save(update_fields=["desired"])
    page = visit().log_in()
    page.goto(reverse("admin:properties_property_change", args=[home.pk]))
    [picture] = boxes(page, ".ps-picture img")
    [title] = boxes(page, ".ps-name h2")
    assert title["left"] > picture["right"]
    assert title["bottom"] - title["top"] < THREE_LINES
    for button in boxes(page, ".ps-head .ps-buttons > *"):
        assert (button["left"] > title["right"], button["top"] < picture["bottom"]) == (True, True)


def test_on_a_phone_a_month_shows_every_appointment_that_it_counts(visit, stock):  # noqa: F811
    first = localdate().replace(day=1)
    last = (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)
    # The month that is shown ends in a week with days of the next one.
    while last.weekday() == 6:
        last = (last + timedelta(days=32)).replace(day=1) - timedelta(days=1)
    there = last + timedelta(days=1)
    Assignment.objects.update(scheduled_at=f"{there}T09:00:00Z", status="SCHEDULED")
    page = visit(width=390).log_in()
    page.goto(f"{reverse('admin:orders_order_calendar')}?view=month&on={last}")
    assert page.get_by_text("2 appointments").is_visible()
    assert len(boxes(page, ".oc-entry")) == 2


@pytest.mark.parametrize("width", [1400, 390])
def test_a_long_word_makes_no_list_wider_than_the_window(visit, stock, width):  # noqa: F811
    word = "Sehrlangestrassenname" * 3
    for home in Property.objects.all():
        home.desired |= {"title": word, "address": home.desired["address"] | {"street": word}}
        home.save(update_fields=["desired"])
    page = visit(width=width).log_in()
    beyond = {}
    for name in ("properties_property_changelist", "orders_order_changelist", CHANGES):
        page.goto(reverse(f"admin:{name}"))
        if found := page.evaluate(OVER) or (width == 1400 and page.evaluate(HIDDEN)):
            beyond[name] = found
    assert beyond == {}


def test_on_a_phone_a_sum_keeps_its_line_and_an_error_its_column(visit, stock):  # noqa: F811
    page = visit(width=390).log_in()
    choose, *_, group, _start = placing_pages(User.objects.get())
    PersonSettings.objects.create(person=User.objects.get(), language="de")
    page.goto(group)
    lines = page.locator(".op-sum strong").evaluate_all(LINES)
    assert lines == [1, 1]
    page.goto(choose)
    page.fill("[name=quantity-11]", "1000")
    page.get_by_role("button", name="Prüfen").evaluate(
        "e => { e.form.noValidate = true; e.click() }"
    )
    page.locator(".op-error").wait_for()
    assert page.evaluate(OVER) == []
    page.fill("[name=quantity-11]", "0")
    page.get_by_role("button", name="Prüfen").click()
    page.locator(".op-form > .cs-danger").wait_for()
    [error], [label, *_] = boxes(page, ".op-form > .cs-danger"), boxes(page, ".op-user label")
    assert label["top"] - error["bottom"] >= 12


def test_on_a_phone_a_long_street_does_not_lie_on_the_price(visit, stock):  # noqa: F811
    home = Property.objects.get(object_reference_id="MH-1002")
    home.desired["address"] |= {"street": "Sehrlangestrassenname" * 3}
    home.save(update_fields=["desired"])
    page = visit(width=390).log_in()
    page.goto(f"{reverse('admin:properties_property_changelist')}?q=MH-1002")
    [street] = boxes(page, ".field-place .cs-first")
    [price] = boxes(page, ".field-price .cs-first")
    assert not overlaps(street, price)
    assert page.locator("#header-inner h1 > a").evaluate("e => e.scrollWidth <= e.clientWidth")


def test_on_a_phone_the_actions_leave_the_chosen_rows_in_sight(visit, stock):  # noqa: F811
    page = visit(width=390).log_in()
    page.goto(reverse("admin:properties_property_changelist"))
    page.check("#action-toggle")
    [bar] = boxes(page, "#changelist-actions-wrapper")
    assert bar["bottom"] - bar["top"] < 130
    for n in range(30):
        make(stock, f"M-{n}", title="Flat")
    PersonSettings.objects.create(person=User.objects.get(), language="de")
    page.reload()
    page.check("#action-toggle")
    page.get_by_role("link", name="Alle 36 Objekte auswählen").wait_for()
    assert page.evaluate(OVER) == []
    last = page.get_by_role("button", name="Auftrag für diese erteilen …")
    last.scroll_into_view_if_needed()
    last.click()
    page.wait_for_url("**/choose/")


def test_on_a_phone_everything_can_be_pressed_with_a_thumb(visit, stock):  # noqa: F811
    page = visit(width=390).log_in()
    home = Property.objects.get(object_reference_id="MH-1001")
    form = reverse("admin:properties_property_change", args=[home.pk])
    low = {}
    for address in (
        reverse("admin:index"),
        reverse("admin:properties_property_changelist"),
        f"{form}#data",
        f"{form}#history",
        reverse("admin:orders_order_changelist"),
        reverse("admin:orders_order_calendar"),
    ):
        page.goto(address)
        pressed = ".cs-button, .cs-quiet, .ps-button, .cs-tabs a, .cs-fold > summary, .ps-tabs a"
        pressed += ", .ps-groups a, .ps-states label, .cs-find"
        if found := [one for one in boxes(page, pressed) if one["bottom"] - one["top"] < THUMB]:
            low[address] = found
    assert low == {}
    page.goto(reverse("admin:properties_property_changelist"))
    [row, *_] = boxes(page, "#result_list .action-checkbox input")
    page.mouse.click(row["left"] - 12, row["top"] - 12)
    assert page.locator("#result_list .action-checkbox input:checked").count() == 1
