"""References that people take for one another: they differ in case, composition or unseen marks.

Such a reference would become a second property beside the first, and nobody would see why.
"""

import re
import unicodedata
from collections.abc import Iterable

from crm_sync.models import Workspace
from properties.models import Property

_BLANKS = re.compile(r"\s+")
_UNSEEN = "Cf"  # the category of characters without width, and of the soft hyphen


def folded(reference: str) -> str:
    """Return what people see of a reference, whatever its case."""
    composed = unicodedata.normalize("NFC", unicodedata.normalize("NFC", reference).casefold())
    seen = "".join(c for c in composed if unicodedata.category(c) != _UNSEEN)
    return _BLANKS.sub(" ", seen).strip()


class Lookalikes:
    """The references of a workspace, read when they are first needed, and those of an import.

    Args:
        earlier: the references of the records that a dry run has handled before. It has created
            none of them, and the import itself will.
    """

    def __init__(self, workspace: Workspace, earlier: Iterable[str] = ()) -> None:
        self._workspace = workspace
        self._earlier = earlier
        self._known: dict[str, str] | None = None

    def other(self, reference: str) -> str | None:
        """Return the reference that resembles a new one; None if it may be a new property."""
        if self._known is None:
            rows = Property.objects.filter(workspace=self._workspace)
            names = rows.exclude(object_reference_id=None)
            found = names.values_list("object_reference_id", flat=True).iterator()
            self._known = {folded(str(name)): str(name) for name in found}
            for name in self._earlier:
                self._known.setdefault(folded(name), name)
        other = self._known.setdefault(folded(reference), reference)
        return None if other == reference else other
