"""The doctor and the audit know targets and the files there."""

import pytest
from django.utils import timezone

from crm_sync.hooks import Verdict
from orders.models import Target, TargetFile
from orders.plugged import doctor, integrity
from tests.crm_sync.admin_pages import make_workspace
from tests.orders.targets.stock import delivered, make_target, material

pytestmark = pytest.mark.django_db


def found(workspace) -> list[tuple[Verdict, str]]:
    return [(one.verdict, one.found) for one in doctor._targets(workspace.pk)]


def test_the_doctor_says_which_target_takes_nothing(main, settings):
    settings.MATERIALS_DOWNLOAD = True
    assert found(main) == []
    row = make_target(main, "FOLDER", "/crm")
    assert found(main) == [(Verdict.OK, "Nothing is wrong with 1 target.")]
    one = material(delivered(main), "m1")
    TargetFile.objects.create(workspace=main, target=row, material=one, problem="no right")
    assert found(main) == [(Verdict.WARNING, "1 file at targets: not taken.")]
    Target.objects.update(attempts=3, problem="away")
    assert found(main)[0] == (Verdict.FAILED, "CRM takes nothing: away")
    settings.MATERIALS_DOWNLOAD = False
    assert found(main)[0] == (Verdict.WARNING, "No file is downloaded, so no target gets one.")


def test_the_audit_counts_each_file_once_and_finds_one_in_another_workspace(main):
    now = timezone.now()
    row = make_target(main, "FOLDER", "/crm")
    ready = delivered(main)
    mine = {"workspace": main, "target": row}
    TargetFile.objects.create(**mine, material=material(ready, "m1"), due_at=now)
    TargetFile.objects.create(**mine, material=material(ready, "m2"), problem="no right")
    group = integrity.files_at_targets(main.pk, now)
    counts = {name: group.rows.filter(rows).count() for name, rows in group.parts.items()}
    assert counts == {"to be uploaded": 1, "there": 0, "with a person": 1}
    broken = [one.name for one in group.invariants if group.rows.filter(one.broken).exists()]
    assert broken == []
    Target.objects.update(workspace=make_workspace("other"))
    broken = [one.name for one in group.invariants if group.rows.filter(one.broken).exists()]
    assert broken == ["is at a target or of a material in another workspace"]
