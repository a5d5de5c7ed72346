"""What an export wrote, and what it could not hold."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext

from crm_sync.sentence import Sentence, said
from crm_sync.translated import number
from properties.catalog import label
from properties.feeds.swissrets.json_writer import WHOLE
from properties.feeds.table.table_writer import Unsaid
from properties.models import Property

SHOWN = 20  # references or files that are named


class ExportReport:
    """What an export wrote, and what the format could not hold; of bounded size."""

    def __init__(self) -> None:
        self.exported = 0
        self.left_out: dict[str, list[str]] = {}
        self.unsaid: dict[tuple[str, str], tuple[int, list[str]]] = {}
        self.files = 0
        self.lacking = 0  # files that should be there
        self.first_lacking: list[tuple[str, str, Sentence]] = []  # reference, name, reason

    def add(self, reference: str, unsaid: Unsaid) -> bool:
        """Count one property. Return whether it was exported."""
        reasons = [reason for path, reason in unsaid if path == WHOLE]
        if reasons:
            self.left_out[reference] = reasons
            return False
        self.exported += 1
        for complaint in unsaid:
            count, references = self.unsaid.get(complaint, (0, []))
            self.unsaid[complaint] = count + 1, [*references, reference][:SHOWN]
        return True

    def lack(self, reference: str, name: str, why: Sentence) -> None:
        """Count a file of a property that is not in the export."""
        self.lacking += 1
        if self.lacking <= SHOWN:
            self.first_lacking.append((reference, name, why))

    def named(self, properties: QuerySet[Property]) -> QuerySet[Property]:
        """Leave out properties that have no reference of ours; return the others."""
        nameless = properties.filter(object_reference_id=None)
        name, reason = gettext("platform id %(id)s"), gettext("it has no reference of ours")
        for platform_id in nameless.values_list("platform_id", flat=True):
            self.add(name % {"id": platform_id}, [(WHOLE, reason)])
        return properties.exclude(object_reference_id=None)

    def document(self, path: Path) -> dict[str, Any]:
        """Return the report as JSON."""
        unsaid = [
            {"path": field, "reason": reason, "count": count, "references": references}
            for (field, reason), (count, references) in sorted(self.unsaid.items())
        ]
        lacking = [
            {"reference": reference, "name": name, "reason": why}
            for reference, name, why in self.first_lacking
        ]
        return {
            "file": str(path),
            "exported": self.exported,
            "files": self.files,
            "left_out": self.left_out,
            "unsaid": unsaid,
            "lacking": {"count": self.lacking, "first": lacking},
        }

    def lines(self, path: Path) -> Iterator[str]:
        """Yield the lines of the report for people."""
        for reference, reasons in list(self.left_out.items())[:SHOWN]:
            yield f"left out  {reference}: {'; '.join(reasons)}"
        for (field, reason), (count, references) in sorted(self.unsaid.items()):
            more = f" and {count - len(references)} more" if count > len(references) else ""
            yield f"not said  {field}: {reason} ({', '.join(references)}{more})"
        for reference, name, why in self.first_lacking:
            yield f"no file   {reference}: {name}: {why}"
        if self.lacking > SHOWN:
            yield f"no file   {self.lacking - SHOWN} more, which the ZIP names"
        files = f" and {self.files} files" if self.files else ""
        yield f"exported: {self.exported} properties{files} to {path.name}"

    def complaints(self) -> Iterator[str]:
        """Yield what the format could not hold, in the language of the reader."""
        left_out = gettext("%(name)s was left out: %(reasons)s")
        for name, why in self.left_out.items():
            yield left_out % {"name": name, "reasons": "; ".join(map(said, why))}
        unsaid = gettext("%(field)s: %(reason)s (%(count)s)")
        for (path, reason), (count, __) in sorted(self.unsaid.items()):
            values = {"field": label(path), "reason": said(reason), "count": number(count)}
            yield unsaid % values
