"""The pages in other languages, in a real browser: no text is English, and none is too wide."""

from collections.abc import Iterator

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.utils.timezone import now

from lab.messages import PACKAGES
from orders.models import Assignment, Order, PersonSettings
from tests.browser.test_accessibility import violations
from tests.browser.test_admin import every_page, stock  # noqa: F401 - a fixture
from tests.languages.pseudo import CODE, NAMES, catalogues, offered, untranslated

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
# Names of tasks and of messages for programs, what the platform said, and what select2 translates.
OTHERS = ("crm_sync.clear_deliveries", "crm_sync.tick", "crm_sync.work", "md5")
OTHERS += ("property.in_sync", "property.refused", "property.conflict")
OTHERS += ("alarm.workspace_paused", "alarm.source_away", "alarm.receiver_failing")
OTHERS += ("alarm.no_worker", "order.status_changed", "material.ready", "The slot is taken.")
OTHERS += ("manage.py run worker", "manage.py run beat")  # what an operator types
# Kinds of targets, and what stands in a pattern of names.
OTHERS += ("SFTP", "FTPS", "WebDAV", "{order}", "{product}", "{quality}", "{name}", "{nn}")
OTHERS += ("Remove all items", "Every minute", "Agent", f"{'a' * 59}…")
# An element that hides a part of its own text without an ellipsis. What is 1 px high is only heard.
CUT = """[...document.querySelectorAll('button, a, label, th, td, h1, h2, summary, .cs-chip')]
  .filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientHeight > 2
     && e.offsetParent && e.textContent.trim()
     && ['hidden', 'clip'].includes(getComputedStyle(e).overflowX)
     && getComputedStyle(e).textOverflow !== 'ellipsis')
  .map(e => e.textContent.trim().slice(0, 60))"""

# What makes a page wider than the window: the innermost elements that reach beyond it.
OVER = """document.documentElement.scrollWidth <= window.innerWidth ? [] :
  [...document.querySelectorAll('body *')]
  .filter(e => e.getBoundingClientRect().right > window.innerWidth + window.scrollX
     && ![...e.children].some(c => c.getBoundingClientRect().right > window.innerWidth))
  .map(e => `${e.tagName}.${e.className}: ${e.textContent.trim().slice(0, 60)}`)"""


@pytest.fixture
def pseudo(settings, tmp_path) -> Iterator[None]:
    """Offer the pseudo-language."""
    with offered(settings, catalogues(tmp_path)):
        yield


def speak(language: str) -> None:
    """Let the one person there is read a language."""
    PersonSettings.objects.update_or_create(
        person=User.objects.get(), defaults={"language": language}
    )


def test_every_page_is_translated_and_fits_with_texts_a_third_longer(
    visit,
    stock,  # noqa: F811
    pseudo,
):
    window = visit()
    page = window.log_in()
    english, wide, cut = {}, {}, {}
    pages = every_page()
    speak(CODE)
    for address in pages:
        page.goto(address, wait_until="load")
        if found := untranslated(page.content(), (*data_of_people(), *NAMES, *OTHERS)):
            english[address] = found
        for width in (390, 1400):  # the next page is loaded at a desk
            page.set_viewport_size({"width": width, "height": 900})
            if over := page.evaluate(OVER):
                wide[address, width] = over
            if hidden := page.evaluate(CUT):
                cut[address, width] = hidden
    assert (english, wide, cut) == ({}, {}, {})
    assert (window.foreign, window.errors) == ([], [])


def data_of_people() -> list[str]:
    """Return every text that a row holds, the longest first."""
    found: set[str] = {"agent"}
    for package in (*PACKAGES[1:], "auth", "django_celery_beat"):
        for model in apps.get_app_config(package).get_models():
            for row in model._default_manager.values():
                found.update(_texts(list(row.values())))
    return sorted(found, key=len, reverse=True)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str) and "$" in value:  # a password
        value = [f"{part[:length]}**" for part in value.split("$") for length in (2, 6)]
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    if isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one)
    elif isinstance(value, str) and len(value) > 1:
        yield value


# The columns of a list that are out of sight to the right.
HIDDEN = """(list => list && [...list.querySelectorAll('thead th')].filter(
    one => one.getBoundingClientRect().right > window.innerWidth).map(one => one.innerText))
    (document.querySelector('#result_list'))"""


@pytest.mark.parametrize("language", ["en", "de", "fr", "it"])
def test_at_a_desk_every_column_of_a_list_is_in_sight(visit, stock, language):  # noqa: F811
    Assignment.objects.update(status="SCHEDULED", scheduled_at=now(), is_confirmed=False)
    Order.objects.update(status="IN_PROGRESS", is_confirmed=False)
    page = visit().log_in()
    pages = [address for address in every_page() if address.count("/") == 4]
    speak(language)
    hidden = {}
    for address in pages:
        page.goto(address, wait_until="load")
        if found := page.evaluate(HIDDEN):
            hidden[address] = found
    assert hidden == {}


def test_axe_finds_nothing_on_any_page_in_german(visit, stock):  # noqa: F811
    window = visit(width=390)
    page = window.log_in()
    found, pages = [], every_page()
    speak("de")
    for address in pages:
        page.goto(address, wait_until="load")
        assert page.evaluate("document.documentElement.lang") == "de"
        found += violations(page)
    assert found == []
