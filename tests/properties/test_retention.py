"""Imports that have ended go after their days, and a source stays one that a person knows (S23)."""

from datetime import timedelta

import pytest
from django.utils.timezone import now

from crm_sync.tasks import clear_deliveries
from properties.models import Import, Sender, Source

LONG_AGO = now() - timedelta(days=366)
State = Import.State


@pytest.mark.rule("S23")
def test_an_ended_import_goes_after_a_year_but_not_the_last_good_one_of_a_source(main, settings):
    agency = Sender.objects.create(workspace=main, name="Agency")
    source = Source.objects.create(
        workspace=main, sender=agency, address="https://x.test/a.xml", due_at=now()
    )

    def add(name: str, state: str, **columns) -> None:
        ended = {"ended_at": LONG_AGO, "released_at": LONG_AGO}
        is_open = state in Import.OPEN
        whole = ended | ({"due_at": now(), "ended_at": None} if is_open else {}) | columns
        Import.objects.create(workspace=main, name=name, state=state, **whole)

    add("uploaded", State.DONE)
    add("lately", State.DONE, ended_at=now())
    add("waits", State.PREVIEWED, uploaded_at=LONG_AGO, released_at=None)
    add("first", State.DONE, source=source)
    add("failed", State.FAILED, source=source)
    add("last good", State.PARTLY, source=source)
    add("failed since", State.FAILED, source=source)
    settings.KEEP_DAYS = settings.KEEP_DAYS | {"imports": 0}
    assert clear_deliveries() == {}
    settings.KEEP_DAYS = settings.KEEP_DAYS | {"imports": 365}
    assert clear_deliveries() == {"imports": 3}
    kept = set(Import.objects.values_list("name", flat=True))
    assert kept == {"lately", "waits", "last good", "failed since"}
