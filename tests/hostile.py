"""Values as people and other programs have them, and as nobody expects them."""

from __future__ import annotations

import re
from typing import Any

from django.db import models

from orders.models import MaterialFile
from tests.roles import DECIDING, word

HOSTILE = {
    "composed umlauts": "Zürich Ñandú Straße",
    "decomposed umlauts": "Zu\u0308rich N\u0303andu\u0301",
    "right to left": "שלום \u202egnp.exe\u202c",
    "emoji": "🏡👩\u200d👩\u200d👧🇨🇭",
    "zero width": "a\u200bb\ufeffc\u2060d",
    "look-alikes": "\u0420ur\u0435\u0430l \u212b \uff11\uff12",
    "a line separator": "a\u2028b\u2029c\u0085d",
    "lines and a header": "a\r\nX-Injected: 1\r\n\r\nb",
    "an escape of a terminal": "\x1b[31mred\x1b[0m\x07",
    "SQL": "'; DROP TABLE x; -- \" \\ %",
    "a template": "{{ 7|add:1330 }}{% load zz %}${7*191}",
    "formats": "%s %(x)s %d {0} {x!r} %%",
    "markup": "<script>zz()</script><img src=x onerror=zz()>&amp;</title>",
    "an attribute": "\" onmouseover=\"zz() ' x='",
    "a formula": "=1+1|cmd",
    "a path": "../../../etc/passwd",
    "a Windows path": "C:\\con\\aux:stream?*",
    "a device": "COM1",
    "a long text": "x" * 4000,
    "words of programs": "null",
    "a number": "1e999",
    "blanks": " \u00a0 a \u3000 ",
}
IN_ADDRESSES = ("object_reference_id", "platform_id")  # no slash (A14)
# What ends a line, steers a terminal, or turns round the letters behind it.
STEERING = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
UNSTORABLE = {"NUL": "a\x00b", "half a surrogate pair": "a\ud800b"}
DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)


def is_file_name(text: str) -> bool:
    """Tell whether every file system and every program can have a file of this name."""
    return (
        text.isprintable()
        and not set(text) & set('/\\:*?"<>|')
        and text == text.strip(". ")
        and 0 < len(text.encode()) <= 255
        and not DEVICE.match(text)
    )


def disguise(slug: str, value: str, models_: list[type[models.Model]]) -> None:
    """Write the value in place of the word of a workspace, in every text and JSON of every row.

    Args:
        slug: of the workspace that `tests.roles.fill` made.
        value: is cut to the length of a column.
        models_: whose rows.
    """
    for model in models_:
        for field in model._meta.concrete_fields:
            if field.name in DECIDING or getattr(field, "generated", False) or field.primary_key:
                continue
            is_text = isinstance(field, models.CharField | models.TextField)
            if not is_text and not isinstance(field, models.JSONField):
                continue
            if getattr(field, "choices", None):
                continue
            if field.name == "name" and model is MaterialFile:  # where the storage has its bytes
                continue
            if field.name in IN_ADDRESSES and "/" in value:
                continue
            for row in model._default_manager.all():
                _write(row, field, word(slug), value)


def _write(row: models.Model, field: models.Field[Any, Any], mark: str, value: str) -> None:
    before = getattr(row, field.attname)
    after = replaced(before, mark, value)
    if isinstance(after, str) and field.max_length and len(after) > field.max_length:
        rest = len(str(before).replace(mark, ""))
        after = replaced(before, mark, value[: max(1, field.max_length - rest)])
    if after != before:
        model = type(row)
        model._default_manager.filter(pk=row.pk).update(**{field.name: after})


def replaced(held: Any, mark: str, value: str) -> Any:
    """Return a JSON value in which the value stands for the mark, in each text but in no key."""
    if isinstance(held, str):
        return held.replace(mark, value)
    if isinstance(held, list):
        return [replaced(one, mark, value) for one in held]
    if isinstance(held, dict):
        return {name: replaced(one, mark, value) for name, one in held.items()}
    return held
