"""What becomes of a fixed set of records changes only with a new `VERSION`.

A feed and a record that are as they were last time are skipped. So whatever changes what becomes of
one has to count the version up, else what is here would stay as the older rules made it. After that

    WRITE_OUTCOMES=1 python -m pytest tests/properties/feeds/test_version.py

writes what becomes of them now; look at the difference, and commit it with the change. Where the
set itself is another, since an example has changed, remove outcomes.json first.
"""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from crm_sync.models import Workspace
from properties.domain.editing import edit
from properties.imports import feed_digest
from properties.imports.engine import import_feed
from properties.imports.feed_digest import unchanged_since
from properties.imports.report import ImportReport
from properties.models import Property, Sender

KNOWN = Path(__file__).with_name("outcomes.json")
EXAMPLES = Path(__file__).parents[3] / "examples"
NAMES = ("swissrets.xml", "swissrets.json", "openimmo.xml", "idx/unload.txt", "properties.csv")
NOW = datetime(2026, 5, 4, 6, tzinfo=UTC)
ADVICE = (
    "What becomes of these records has changed: count VERSION up in"
    " properties/imports/feed_digest.py, then write the outcomes as the head of this file says."
)
EDITED = {"title": "Mine", "numberOfRooms": 9, "numberOfBathrooms": 7}  # by a person, in between
TABLE_OVER = """title;objectReferenceId;areaBwf;localizations.de.title;localizations.fr.title
Neuer Titel;{reference};<empty>;Über allem;<empty>
Jörg & Söhne;{reference}-NEW;"1'250.--";;Maison
"""


def load(workspace: Workspace, path: Path, **options: Any) -> dict[str, Any]:
    """Import a feed; what became of its records, without the words that say why."""
    report: ImportReport = list(import_feed(workspace, path, now=NOW, force=True, **options))[-1]
    return {
        "new": report.new.first,
        "changed": [[reference, fields] for reference, fields in report.changed.first],
        "unchanged": report.unchanged.first,
        "refused": [[one.position, one.reference] for one in report.refused.first],
        "warned": [[reference, len(texts)] for reference, texts in report.warned.first],
        "aside": [[reference, sorted(names)] for reference, names in report.aside.first],
        "missing": report.missing,
    }


def later(content: dict[str, Any]) -> dict[str, Any]:
    """The same feed on another day: texts, members, values and records come, change and go."""
    first, *others = content["properties"]
    first["localizations"][0]["title"] = "Ein anderer\0 Titel \ud800"
    first["localizations"].append({"languageCode": "it", "title": "Casa"})
    first["characteristics"] |= {"numberOfRooms": "four", "floor": 3, "pool": True}
    first["availability"]["start"] = "2026-09-01T02:00:00+02:00"  # the same moment
    first["prices"]["currency"] = "EUR"
    first["address"].pop("geo", None)
    first.pop("seller", None)
    return {**content, "properties": [first, {"id": "bad"}, *others[1:]]}


def days(folder: Path, first: Path) -> list[Path]:
    """The files that one sender sends, one after the other."""
    if first.suffix != ".json":
        return [first, first]
    other = folder / first.name
    other.write_text(json.dumps(later(json.loads(first.read_text()))))
    return [first, first, other, first]


def outcome(folder: Path, path: Path) -> dict[str, Any]:
    """Import what a sender sends, with the edit of a person in between, and a table over it."""
    main = Workspace.objects.create(slug=path.name.replace(".", "-"), base_url="http://x.test")
    policy = {"missing": Sender.Missing.SET_STATE, "missing_state": "PRIVATE"}
    sender = Sender.objects.create(workspace=main, name="Agency", **policy)
    first, *others = days(folder, path)
    steps = [load(main, first, sender=sender)]
    row = Property.objects.filter(workspace=main).order_by("pk")[0]
    edit(row, EDITED, origin="ADMIN", now=NOW)
    steps += [load(main, other, sender=sender) for other in others]
    over = folder / "over.csv"
    over.write_text(TABLE_OVER.format(reference=row.object_reference_id))
    steps.append(load(main, over))
    rows = Property.objects.filter(workspace=main).order_by("object_reference_id")
    kept = rows.values_list("object_reference_id", "desired", "fed", "leftover")
    named = {one: {"desired": d, "fed": f, "leftover": more} for one, d, f, more in kept}
    return {"steps": steps, "properties": named}


def outcomes(folder: Path) -> dict[str, Any]:
    """Return what becomes of the fixed set."""
    paths = (EXAMPLES / name for name in NAMES)
    return {path.name: outcome(folder, path) for path in paths}


@pytest.mark.django_db
def test_what_becomes_of_a_record_changes_only_with_a_new_version(tmp_path):
    known = json.loads(KNOWN.read_text()) if KNOWN.exists() else {"version": 0, "outcomes": {}}
    found = json.loads(json.dumps(outcomes(tmp_path)))
    if os.environ.get("WRITE_OUTCOMES") and known["version"] < feed_digest.VERSION:
        known = {"version": feed_digest.VERSION, "outcomes": found}
        KNOWN.write_text(json.dumps(known, ensure_ascii=False, indent=1, sort_keys=True) + "\n")
    assert found == known["outcomes"], ADVICE
    assert known["version"] == feed_digest.VERSION, (
        "Write the outcomes as the head of this file says."
    )


def test_what_an_older_version_made_of_a_record_is_mended_by_the_same_feed(
    main, tmp_path, monkeypatch
):
    path = EXAMPLES / "swissrets.json"
    load(main, path)
    row = Property.objects.order_by("pk")[0]
    right = row.desired
    older = {"desired": right | {"title": "as an older one made it"}}
    Property.objects.filter(pk=row.pk).update(**older, fed=row.fed | {"title": "the same"})
    assert unchanged_since(main, path, None) == NOW
    assert load(main, path)["changed"] == []
    monkeypatch.setattr(feed_digest, "VERSION", feed_digest.VERSION + 1)
    assert unchanged_since(main, path, None) is None
    assert load(main, path)["changed"] == [[row.object_reference_id, ["title"]]]
    row.refresh_from_db()
    assert row.desired == right
    assert unchanged_since(main, path, None) == NOW
