"""A feed by upload, in a real browser: the bar moves by itself, and can be stopped."""

import threading
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from crm_sync.models import Workspace
from crm_sync.work import leases
from properties.imports import job
from properties.models import Import, Property
from tests.processes import wait_until
from tests.properties.uploaded import PACE, table

ALL = 1_000  # records: more than there are
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def main(transactional_db, settings, tmp_path) -> Workspace:
    settings.DATA_DIR = tmp_path
    return Workspace.objects.create(slug="main", base_url="http://platform.test")


class Worker(threading.Thread):
    """Works on uploads beside the browser; imports record by record, as far as it is told to."""

    def __init__(self, workspace_id: int) -> None:
        super().__init__()
        self.rows = job.ready().filter(workspace_id=workspace_id)
        self.upto = 0
        self.over = threading.Event()

    def run(self) -> None:
        try:
            while not self.over.wait(0.05):
                held_back = {"state": Import.State.RUNNING, "done__gte": self.upto}
                claim = leases.claim(self.rows.exclude(**held_back), now=timezone.now())
                if claim and claim.row.state == Import.State.RUNNING:
                    job.work(claim, until=0.0, limits=PACE)
                elif claim:
                    job.work(claim, until=float("inf"))
        finally:
            connection.close()


@pytest.fixture
def worker(main) -> Iterator[Worker]:
    one = Worker(main.pk)
    one.start()
    yield one
    one.over.set()
    one.join()


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
    for records in (3, 6, 9):
        worker.upto = records
        page.wait_for_function(f"document.querySelector('progress')?.value === {records}")
    page.wait_for_selector(".pi-progress:has-text('Imported 9 of 201 records')")
    page.get_by_role("button", name="Cancel").click()
    page.wait_for_selector("text=What was imported until then stays")
    assert "after 9 of 201 records" in page.inner_text("body")
    worker.upto = ALL
    wait_until("its file is removed", Import.objects.filter(due_at=None).exists, limit=30)
    assert (Property.objects.count(), Import.objects.get().state) == (9, "CANCELLED")
    assert (window.foreign, window.errors) == ([], [])


def test_an_import_that_ends_shows_what_it_did_without_a_click(visit, main, worker, tmp_path):
    window = visit()
    page = window.log_in()
    hand_in(page, tmp_path, 6)
    worker.upto = ALL
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
    page = window.log_in_by_form()
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
