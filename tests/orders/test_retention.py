"""Users whom nothing names, and files of ended orders, go after their days and not before (S23)."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.core.files.base import ContentFile
from django.utils.timezone import now

from crm_sync.models import Workspace
from crm_sync.tasks import clear_deliveries
from orders.materials.download import storage
from orders.models import Material, MaterialFile, MaterialSet, Placement, PlatformUser
from tests.orders.admin_rows import make_assignment, make_order

LONG_AGO = now() - timedelta(days=366)


def users() -> set[str]:
    return set(PlatformUser.objects.values_list("platform_id", flat=True))


@pytest.mark.rule("S23")
def test_a_user_who_is_gone_for_a_year_goes_if_nothing_names_them(main, settings):
    for key in ("there", "lately", "ordered", "placed", "by-reference", "tied", "nobody"):
        gone_at = {"there": None, "lately": now()}.get(key, LONG_AGO)
        PlatformUser.objects.create(
            workspace=main,
            platform_id=key,
            user_reference_id=f"R-{key}",
            is_tied_by_hand=key == "tied",
            gone_at=gone_at,
        )
    other = Workspace.objects.create(slug="other", base_url="https://x.test")
    make_order(other, "1", user_platform_id="nobody")
    make_order(main, "2", user_platform_id="ordered")
    for columns in ({"user_platform_id": "placed"}, {"user_reference_id": "R-by-reference"}):
        Placement.objects.create(workspace=main, object_reference_id="A-1", **columns)
    before = users()
    settings.KEEP_DAYS = settings.KEEP_DAYS | {"users": 0}
    assert (clear_deliveries(), users()) == ({}, before)
    settings.KEEP_DAYS = settings.KEEP_DAYS | {"users": 365}
    assert clear_deliveries() == {"users of the platform": 1}
    assert users() == before - {"nobody"}


@pytest.fixture
def stored(main, folder) -> dict[str, MaterialFile]:
    """Return a stored file of an order in each status, and a new one."""
    found = {}
    for number, status in enumerate(("COMPLETED", "CANCELLED", "IN_PROGRESS", "new")):
        is_new = status == "new"
        order = make_order(main, f"{number}", status="COMPLETED" if is_new else status)
        ready = MaterialSet.objects.create(
            workspace=main,
            order=order,
            assignment=make_assignment(order, f"a{number}"),
            ready_at=LONG_AGO,
            fetched_at=LONG_AGO,
        )
        found[status] = MaterialFile.objects.create(
            workspace=main,
            material=Material.objects.create(material_set=ready, platform_id="1"),
            role=MaterialFile.Role.FILE,
            name=storage().save(f"{status}.png", ContentFile(b"x")),
            digest="d",
            stored_at=now() if is_new else LONG_AGO,
        )
    return found


def test_the_files_of_ended_orders_stay_until_a_setting_says_how_long(stored, settings):
    assert clear_deliveries() == {}
    settings.KEEP_DAYS = settings.KEEP_DAYS | {"files": 365}
    assert clear_deliveries() == {"files of materials": 2}
    kept = {status for status, row in stored.items() if storage().exists(row.name)}
    assert kept == {"IN_PROGRESS", "new"}
    assert MaterialFile.objects.count() == 2
    assert Material.objects.count() == 4  # it says still what was delivered, and where it is


def test_a_file_that_cannot_be_removed_keeps_its_row_until_it_can(stored, settings):
    settings.KEEP_DAYS = settings.KEEP_DAYS | {"files": 365}
    stuck = Path(storage().path(stored["CANCELLED"].name))
    stuck.unlink()
    (stuck / "open").mkdir(parents=True)  # the storage refuses to remove it
    assert clear_deliveries() == {"files of materials": 1}
    assert MaterialFile.objects.filter(pk=stored["CANCELLED"].pk).exists()
    (stuck / "open").rmdir()
    assert clear_deliveries() == {"files of materials": 1}
    assert (MaterialFile.objects.count(), stuck.exists()) == (2, False)
