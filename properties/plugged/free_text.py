"""In which columns of this app people may be named (S23).

Documents are none: an edit changes them, here and on the platform. So are the values of the
history, conflicts, and what feeds and imports said.
"""

from crm_sync.hooks import FreeText
from properties.models import Change, Fetch, Import, Property, Recurring, Source

FREE_TEXT = (
    FreeText(Property, ("last_answer",)),
    FreeText(Change, ("note",)),
    FreeText(Fetch, ("problem",)),
    FreeText(Import, ("problem",)),
    FreeText(Recurring, ("problem",)),
    FreeText(Source, ("problem",)),
)
