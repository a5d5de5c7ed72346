"""The small pictures in the list of properties, which other apps have."""

from collections.abc import Iterable
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

from crm_sync import hooks
from crm_sync.admin.ui.cells import shortened


def give_pictures(rows: Iterable[Any], user: Any) -> None:
    """Set `picture` of each row to the address of its picture, "" where there is none.

    A constant number of queries, and only pictures that this person may see (S17).
    """
    keys = [row.pk for row in rows]
    found: dict[int, str] = {}
    for one in hooks.plugged().property_pictures:
        if user.has_perm(one.permission):
            found |= one.find(keys)
    for row in rows:
        row.picture = found.get(row.pk, "")


def titled(row: Any) -> SafeString | str:
    """Show the title of a row, and its picture beside it."""
    title = shortened(row.title or "", 60)
    if not getattr(row, "picture", ""):
        return title
    both = '<span class="ps-pictured"><img src="{}" alt="" loading="lazy"> <span>{}</span></span>'
    return format_html(both, row.picture, title)
