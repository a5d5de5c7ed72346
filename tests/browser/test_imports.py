"""A feed by upload, in a real browser: the bar moves by itself, and can be stopped."""

import threading
import time

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from crm_sync import due
from crm_sync.models import Workspace
from properties import importing
from properties.models import Import, Property
from tests.properties.uploaded import table

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def main(transactional_db, settings, tmp_path) -> Workspace:
    settings.DATA_DIR = tmp_path
    return Workspace.objects.create(slug="main", base_url="http://platform.test")


@pytest.fixture
def worker(main):
    """Work on uploads beside the browser, some records a second, until the test is over."""
    over = threading.Event()
    thread = threading.Thread(target=_work, args=(main.pk, over))
    thread.start()
    yield
    over.set()
    thread.join()


def _work(workspace_id: int, over: threading.Event) -> None:
    pace = importing.Pace(save=0.0, least=0.0, together=1)
    try:
        while not over.is_set():
            rows = importing.ready().filter(workspace_id=workspace_id)
            claim = due.claim(rows, now=timezone.now())
            if claim is None:
                time.sleep(0.1)
                continue
            is_import = claim.row.state == Import.State.RUNNING
            importing.work(claim, until=0.0 if is_import else float("inf"), pace=pace)
            time.sleep(0.15 if is_import else 0)
    finally:
        connection.close()


def hand_in(page, tmp_path, count: int) -> None:
    feed = tmp_path / "stock.csv"
    feed.write_bytes(table([f"A{n:03}" for n in range(count)] + ["bad"]))
    page.goto(reverse("admin:index"))
    page.get_by_role("link", name="Imports").first.click()
    page.get_by_role("link", name="Import a feed").first.click()
    page.set_input_files("[name=file]", feed)
    page.get_by_role("button", name="Upload", exact=True).click()
    page.wait_for_selector("text=This is what the import would do")


def test_the_bar_moves_by_itself_and_an_import_can_be_cancelled(visit, main, worker, tmp_path):
    window = visit()
    page = window.log_in()
    hand_in(page, tmp_path, 200)
    assert "line 202 bad" in page.inner_text(".cs-pairs").replace("\n", " ")
    assert not Property.objects.exists()
    page.get_by_role("button", name="Import", exact=True).click()
    seen = []
    for least in (3, 6, 9):
        page.wait_for_function(f"document.querySelector('progress')?.value >= {least}")
        seen.append(page.evaluate("document.querySelector('progress').value"))
    assert seen == sorted(seen)
    assert "of 201 records" in page.inner_text(".pi-progress")
    page.get_by_role("button", name="Cancel").click()
    page.wait_for_selector("text=What was imported until then stays")
    count = Property.objects.count()
    assert 9 <= count < 200
    assert f"after {count} of 201 records" in page.inner_text("body")
    time.sleep(0.5)
    assert (Property.objects.count(), Import.objects.get().state) == (count, "CANCELLED")
    assert (window.foreign, window.errors) == ([], [])


def test_an_import_that_ends_shows_what_it_did_without_a_click(visit, main, worker, tmp_path):
    window = visit()
    page = window.log_in()
    hand_in(page, tmp_path, 6)
    page.get_by_role("button", name="Import", exact=True).click()
    page.wait_for_selector("text=Some records could not be taken")
    assert Property.objects.count() == 6
    with page.expect_download() as download:
        page.get_by_role("link", name="Download as CSV").click()
    assert "line 8,bad" in download.value.path().read_text()
    assert (window.foreign, window.errors) == ([], [])


@pytest.mark.parametrize(("width", "theme"), [(1400, "light"), (390, "dark")])
def test_no_page_is_too_wide_or_asks_another_host(visit, main, worker, tmp_path, width, theme):
    window = visit(width=width, theme=theme)
    page = window.log_in()
    wide = {}
    names = [f"{'x' * 200}-{n}" for n in range(3)]
    feed = tmp_path / f"{'long' * 40}.csv"
    feed.write_bytes(table([*names, f"bad{'y' * 200}"]))
    page.goto(reverse("admin:properties_import_changelist"))
    pages = [page.url, reverse("admin:properties_import_add")]
    page.goto(pages[1])
    page.set_input_files("[name=file]", feed)
    page.get_by_role("button", name="Upload", exact=True).click()
    page.wait_for_selector("text=This is what the import would do")
    for address in [*pages, page.url]:
        page.goto(address, wait_until="load")
        over = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        if over > 0:
            wide[address] = over
    assert (window.foreign, window.errors, wide) == ([], [], {})
    assert User.objects.count() == 1
