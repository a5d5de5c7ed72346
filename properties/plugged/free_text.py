"""The columns of this app whose texts may name people (S23).

Documents are not among them: an edit changes them, here and on the platform. The same holds for
the values of the history and of conflicts, and for the content of feeds and imports.
"""

from crm_sync.hooks import FreeText
from properties.models import (
    Change,
    DeliveredFile,
    DriftCheck,
    Fetch,
    Import,
    Property,
    Recurring,
    Source,
    Undo,
)

FREE_TEXT = (
    FreeText(Property, ("last_answer",)),
    FreeText(Change, ("note",)),
    FreeText(DeliveredFile, ("problem",)),
    FreeText(DriftCheck, ("stopped",)),
    FreeText(Fetch, ("text", "problem")),
    FreeText(Import, ("problem",)),
    FreeText(Undo, ("problem",)),
    FreeText(Recurring, ("problem",)),
    FreeText(Source, ("problem",)),
)
