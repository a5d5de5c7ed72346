"""The columns of a foreign table: the preview proposes their meaning, a person corrects it."""

from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext, gettext_lazy as _

from crm_sync.translated import LANGUAGES, Text
from properties.catalog import label
from properties.feeds.table.table_columns import COLUMNS, localized
from properties.feeds.table.table_names import is_title
from properties.imports.column_choice import TableMapping
from properties.models import Import

STATES: dict[str, Text] = {
    "": _("our name"),
    "chosen": _("chosen"),
    "proposed": _("proposed"),
    "set aside": _("set aside"),
}


def columns_part(row: Any, *, may_map: bool, said: QueryDict) -> dict[str, Any] | None:
    """Return the columns that a person may correct before the import; None if there are none.

    Args:
        row: annotated with `sender_name`.
        said: what was posted and refused, to show it again; empty at first.
    """
    heading = row.preview.get("heading")
    if not heading or not may_map or row.state != Import.State.PREVIEWED:
        return None
    sheet, header_row, columns = heading
    profile = row.preview.get("profile", {})
    language = profile.get("language", "de")
    return {
        "rows": [_row(number, *one, said=said) for number, one in enumerate(columns)],
        "proposed": any(not ours and may for _, ours, may in columns),
        "place": _place(sheet, header_row),
        "sheet": sheet,
        "header_row": header_row,
        "chosen_sheet": said.get("sheet", profile.get("sheet", "")),
        "chosen_row": said.get("header_row", profile.get("header_row") or ""),
        "said_sender": said.get("sender", ""),
        "sender": row.sender_name,
        "ours": [(name, label(name)) for name in _ours(language)],
    }


def answer_of(row: Import, posted: QueryDict) -> TableMapping:
    """Return the posted values for the columns that the page showed."""
    heading = row.preview.get("heading") or ["", 0, []]
    said = {
        name: posted.get(f"column-{number}", "").strip()
        for number, (name, _, _) in enumerate(heading[2])
        if f"column-{number}" in posted
    }
    header_row = posted.get("header_row", "").strip()
    return TableMapping(
        said,
        sender=posted.get("sender", "").strip(),
        sheet=posted.get("sheet", "").strip()[:31],
        header_row=int(header_row) if header_row.isdecimal() and len(header_row) < 7 else 0,
    )


def _row(number: int, name: str, ours: str, may_be: str, *, said: QueryDict) -> dict[str, Any]:
    read_as = "" if ours and is_title(name, ours) else "chosen"
    left = "proposed" if may_be else "set aside"
    state = read_as if ours else left
    value = said.get(f"column-{number}", ours or may_be)
    if value != (ours or may_be):
        state = "chosen" if value else "set aside"
    return {
        "number": number,
        "name": name,
        "value": value,
        "state": STATES[state],
        "is_proposed": state == "proposed",
    }


def _place(sheet: str, row: int) -> str:
    if sheet:
        text = gettext("Their names stand in sheet %(sheet)s, row %(row)s.")
        return text % {"sheet": sheet, "row": row}
    return gettext("Their names stand in line %(row)s.") % {"row": row}


def _ours(language: str) -> list[str]:
    languages = dict.fromkeys([language, *LANGUAGES])
    return [*COLUMNS, *(name for code in languages for name in localized(code))]
