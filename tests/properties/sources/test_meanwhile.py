"""A person changes a source while a worker fetches from it: what the person chose counts."""

from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from django.utils.timezone import now

from crm_sync import hooks
from crm_sync.models import Workspace
from crm_sync.work import turn
from properties.imports import upload
from properties.models import DeliveredFile, Fetch, Import, Sender, Source
from tests.crm_sync.admin_pages import client_of
from tests.crm_sync.sockets import answering, serving
from tests.properties.sources.test_fetch import put
from tests.properties.test_full_feed_guard import as_json
from tests.together import crossing, on_postgresql

pytestmark = pytest.mark.django_db(transaction=True)
BEGIN = 'FROM "properties_sender"'  # the first statement of a fetch after the claim


@pytest.fixture
def row(main, data_dir: Path, settings, admin_user) -> Source:
    """Return a source whose first feed a person has released, and that has a new one."""
    settings.SOURCE_FOLDERS = [str(data_dir)]
    sender = Sender.objects.create(workspace=main, name="Agency")
    address = f"file://{feed(data_dir / 'old.json', 'A')}"
    columns = {"sender": sender, "address": address, "every_minutes": 60, "due_at": now()}
    made = Source.objects.create(workspace=main, **columns)
    take(main, "sources", "imports")
    upload.release(Import.objects.all(), actor=admin_user, now=now())
    take(main, "imports")
    feed(data_dir / "old.json", "A", "B")
    Source.objects.update(due_at=now())
    return made


def feed(path: Path, *references: str) -> Path:
    put(path, as_json(references).encode(), at=1000.0 * len(references))
    return path


def take(workspace: Workspace, *queues: str) -> list[dict[str, int]]:
    return [turn.take(hooks.queue(name), workspace.pk, seconds=9.0).counts for name in queues]


def ask(row: Source, action: str) -> None:
    page = reverse("admin:properties_source_changelist")
    act: dict[str, Any] = {"action": action, "_selected_action": row.pk}
    assert client_of(superuser=True).post(page, act).status_code == 302


def test_the_file_of_an_address_that_was_changed_meanwhile_is_not_taken(main, row, data_dir):
    other = feed(data_dir / "other.json", "C")

    def move() -> None:
        typed = {"sender": row.sender_id, "address": f"file://{other}", "delivery": "REPLACED"}
        typed |= {"sign_in": "PASSWORD", "is_enabled": "on", "every_minutes": "60"}
        page = reverse("admin:properties_source_change", args=[row.pk])
        assert client_of(superuser=True).post(page, typed).status_code == 302

    (found,), _ = crossing(lambda: take(main, "sources"), move, at=BEGIN)
    assert found == {"changed meanwhile": 1, "new": 1}
    first, last = Import.objects.order_by("pk")
    assert (first.released_at is None, last.name, last.released_at) == (False, "other.json", None)


def test_a_fetch_that_shall_take_it_even_if_much_is_missing_is_not_lost(main, row):
    Source.objects.update(is_asked=True)
    (found,), _ = crossing(
        lambda: take(main, "sources"), lambda: ask(row, "fetch_all_the_same"), at=BEGIN
    )
    assert found == {"changed meanwhile": 1, "new": 1}
    assert Import.objects.order_by("-pk")[0].force
    assert Fetch.objects.count() == 2


@pytest.mark.rule("S13")
def test_a_new_secret_goes_to_no_address_but_its_own(main, row, settings):
    settings.SOURCE_INTERNAL_HOSTS = ["127.0.0.1"]
    with serving(answering(b"")) as old, serving(answering(b"")) as new:
        known = {"address": old.url, "sign_in": "BEARER", "secret": "first"}
        Source.objects.update(due_at=now(), **known)

        def move() -> None:
            posted = {"sender": row.sender_id, "address": new.url, "delivery": "REPLACED"}
            posted |= {"sign_in": "BEARER", "new_secret": "second", "is_enabled": "on"}
            page = reverse("admin:properties_source_change", args=[row.pk])
            answer = client_of(superuser=True).post(page, posted | {"every_minutes": "60"})
            assert answer.status_code == 302

        crossing(lambda: take(main, "sources"), move, at=BEGIN)
        assert b"Bearer second" not in b"".join(old.requests)
        assert b"Bearer first" not in b"".join(new.requests)
        assert b"Bearer second" in b"".join(new.requests)


@on_postgresql
def test_a_worker_that_skips_all_files_and_a_person_who_skips_one_meet_and_neither_fails(
    main, row, data_dir
):
    folder = data_dir / "turn"
    folder.mkdir()
    feed(folder / "1.json", "A")
    columns = {"delivery": "IN_TURN", "address": f"file://{folder}/", "skips_before": now()}
    Source.objects.update(due_at=now(), **columns)
    file = DeliveredFile.objects.create(source=row, name="1.json", state="STOPPED")

    def skip() -> int:
        page = reverse("admin:properties_source_changelist")
        act = {"action": "skip_file", "_selected_action": row.pk, "file": file.pk}
        return client_of(superuser=True).post(page, act).status_code

    _, status = crossing(
        lambda: take(main, "sources"), skip, at='UPDATE "properties_deliveredfile" SET "size"'
    )
    file.refresh_from_db()
    assert (status, file.state) == (302, "SKIPPED")
    take(main, "sources")
    assert Source.objects.get().skips_before is None
