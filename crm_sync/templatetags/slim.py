"""Cells of a list with one short class instead of unfold's many."""

import re

from django import template
from django.utils.safestring import SafeString, mark_safe
from unfold.templatetags.unfold_list import CHECKBOX_CLASSES, LINK_CLASSES, ROW_CLASSES

register = template.Library()
TITLE = re.compile(r'(?<= data-label=")[^\W\d_]')
# As unfold writes them; the name of the column, before the first, stays.
SHORT = (
    (" ".join(ROW_CLASSES), "cs-cell"),
    (" ".join(CHECKBOX_CLASSES), "action-checkbox cs-box"),
    (" ".join(LINK_CLASSES), "cs-row"),
)


@register.filter
def slim(cell: SafeString) -> SafeString:
    """Return a rendered cell of a list with short classes (`crm_sync/admin.css`)."""
    text = str(cell)
    for long, short in SHORT:
        text = text.replace(long, short, 1)
    text = TITLE.sub(lambda found: found[0].upper(), text, count=1)
    return mark_safe(text)  # noqa: S308 - rendered by unfold; only words of ours were replaced
