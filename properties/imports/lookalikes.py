"""References that look the same to people: they differ in case, composition or invisible marks.

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
    """Return the visible characters of a reference, without case."""
    composed = unicodedata.normalize("NFC", unicodedata.normalize("NFC", reference).casefold())
    seen = "".join(c for c in composed if unicodedata.category(c) != _UNSEEN)
    return _BLANKS.sub(" ", seen).strip()


class Lookalikes:
    """The references of a workspace and of an import. They are read at the first use.

    Args:
        earlier: the references of the records that a dry run has handled before. The dry run has
            not created them, but the import will.
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
