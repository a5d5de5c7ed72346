"""Uploads without a browser: files in a folder of the test's own, and what a worker does."""

from collections.abc import Iterable

from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from crm_sync.sentence import Sentence
from crm_sync.work import leases
from properties.imports import job, upload as imports_upload
from properties.models import Import, Property

PACE = job.SliceLimits(save=0.0, least=0.0, batch_size=1)  # writes and may stop after each record
CANARY = "<svg onload=alert(1)>"


def table(references: Iterable[str], title: str = "House") -> bytes:
    """A feed of one line for each property; "bad…" has a cell too many."""
    lines = ["objectReferenceId,title,numberOfRooms"]
    lines += [f"{r},{title} {r},3{',4' if r.startswith('bad') else ''}" for r in references]
    return "\n".join(lines).encode()


def upload(
    workspace, user, content: bytes, *, name: str = "stock.csv", sender=None, released=False
) -> Import:
    file, new = SimpleUploadedFile(name, content), Import(workspace=workspace, sender=sender)
    row = imports_upload.receive(new, file, actor=user, now=timezone.now())
    if released:
        while fresh(row).state == Import.State.PREVIEWING:
            work(row)
        imports_upload.release(rows(row), actor=user, now=timezone.now())
    return row


def rows(row: Import):
    return Import.objects.filter(pk=row.pk)


def fresh(row: Import) -> Import:
    return Import.objects.get(pk=row.pk)


def claim(row: Import, *, now=None) -> leases.Claim[Import]:
    return leases.claim(rows(row), now=now or timezone.now())


def work(
    row: Import, *, until: float = float("inf"), clock=timezone.now, now=None, limits=PACE
) -> str:
    return job.work(claim(row, now=now), until=until, limits=limits, clock=clock)


def stock() -> dict[str, tuple]:
    """What an import may change, by reference."""
    found = Property.objects.values_list("object_reference_id", "desired", "fed", "revision")
    return {reference: rest for reference, *rest in found}


def texts(stored: Iterable) -> list[str]:
    """The stored sentences of a summary, in English."""
    return [str(Sentence.of(one)) for one in stored]


def counts(summary: dict) -> tuple[int, ...]:
    """New, changed, unchanged, refused."""
    return tuple(summary["counts"][name] for name in ("new", "changed", "unchanged", "refused"))


def states() -> dict[str, str]:
    """The availability state of each property, by its reference."""
    found = Property.objects.values_list("object_reference_id", "desired")
    return {reference: desired["availabilityState"] for reference, desired in found}
