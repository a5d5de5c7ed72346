"""A file that a worker downloads goes to the targets by itself, also if the worker dies."""

from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.utils import timezone

from crm_sync import hooks
from crm_sync.work import turn
from orders.materials.file_requests import want
from orders.models import Material, MaterialFile, TargetFile
from orders.plugged import order_queues
from orders.targets import target_files
from tests.orders.file_server import PNG, serving_file
from tests.orders.targets.stock import delivered, make_target, material, there, upload

pytestmark = pytest.mark.django_db


@pytest.fixture
def files(folder):
    with serving_file() as one:
        yield one


@pytest.fixture
def asked(main, crm, files) -> Material:
    """Return a material that a target takes, whose file is to be downloaded."""
    make_target(main, "FOLDER", str(crm))
    one = material(delivered(main), "m1", url=f"{files.url}/1.png", mime_type="image/png")
    want([one], now=timezone.now())
    return one


def download(workspace) -> dict[str, int]:
    return turn.take(hooks.queue("files"), workspace.pk, seconds=20.0).counts


def test_a_downloaded_file_is_uploaded_and_its_newer_version_too(asked, main, crm, files):
    name = "R-1/ground_photo/01.png"
    assert (download(main), upload(main)) == ({"stored": 1}, {"uploaded": 1})
    assert there(crm) == {name: files.body}
    files.body, files.tag = PNG + b"newer", '"v2"'
    later = timezone.now()
    Material.objects.update(modified_at=later)
    want(Material.objects.all().select_related("material_set"), now=later)
    assert (download(main), upload(main)) == ({"stored": 1}, {"uploaded": 1})
    assert there(crm) == {name: files.body}


def test_a_thumbnail_goes_to_no_target(main, crm, files):
    make_target(main, "FOLDER", str(crm))
    one = material(delivered(main), "m1", file_name="", thumbnail_url=f"{files.url}/t.png")
    want([one], now=timezone.now())
    assert download(main) == {"stored": 1}
    assert (upload(main), there(crm)) == ({}, {})


@pytest.mark.rule("I27")
def test_a_file_is_stored_and_due_for_its_targets_or_neither(asked, main, crm, monkeypatch):
    class Died(BaseException):
        """The process is gone."""

    def dying(*_, **__):
        raise Died

    real = target_files.want
    monkeypatch.setattr(order_queues.target_files, "want", dying)
    claims = hooks.queue("files").claim(main.pk, 1)
    with pytest.raises(Died):
        hooks.queue("files").work(claims, turn_of(main))
    assert MaterialFile.objects.get().name == ""
    monkeypatch.setattr(order_queues.target_files, "want", real)
    over = timezone.now() - timedelta(seconds=1)
    MaterialFile.objects.update(lease_until=over, due_at=over)
    assert download(main) == {"stored": 1}
    assert TargetFile.objects.filter(due_at__isnull=False).count() == 1
    assert (upload(main), len(there(crm))) == ({"uploaded": 1}, 1)


def turn_of(workspace):
    return SimpleNamespace(workspace=workspace, is_over=lambda: False)
