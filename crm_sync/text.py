"""Pure: text that every database of ours can store (I17)."""

import json
import re
from typing import Any

# PostgreSQL cannot store NUL in a text, and UTF-8 has no form for half a surrogate pair.
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")
_DIGITS = 18
# Control characters and line separators, and their escapes in a log or on a terminal.
_ESCAPED = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))} | {
    ord("\n"): "\\n",
    ord("\r"): "\\r",
    ord("\t"): "\\t",
    0x2028: "\\u2028",
    0x2029: "\\u2029",
}
# The first word of a text if it is a host or the name of a file.
_NAME = re.compile(r"\S*\w\.\w")
# These turn round the letters behind them, so that a line reads as another one.
_TURNING = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
_ESCAPED |= {code: f"\\u{code:04x}" for code in _TURNING}
_FOR_PEOPLE = dict.fromkeys(_ESCAPED, " ")
_PLAIN = json.JSONEncoder(ensure_ascii=False)
# The same in a JSON body: escaped, as bytes of UTF-8, or in UTF-16 and UTF-32, which contain NUL in
# most characters. A raw NUL in a text is not JSON.
_MAY_BE_UNSTORABLE = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])|\xed[\xa0-\xbf]|\x00")


def is_clean(body: bytes) -> bool:
    """Return whether the JSON of this body certainly contains nothing that `clean` removes.

    If only a walk over the document could decide it, return False.
    """
    return not _MAY_BE_UNSTORABLE.search(body)


def holds_nothing_unstorable(value: Any) -> bool:
    """Return whether `clean` certainly removes nothing from a JSON value, in a third of its time.

    If only a walk over the value could decide it, return False.
    """
    try:
        return b"\\u0000" not in _PLAIN.encode(value).encode()
    except ValueError:  # half a surrogate pair, or an int that is too long for a text
        return False


def clean(value: Any) -> tuple[Any, bool]:
    """Return a JSON value without NUL and lone surrogates, and whether there were any.

    Keys are cleaned too. If a cleaned key equals another key, its member is dropped. The given
    value is not changed.
    """
    if isinstance(value, str):
        if value.isascii() and "\0" not in value:  # true for most texts
            return value, False
        text = _UNSTORABLE.sub("", value)
        return text, text != value
    if isinstance(value, list):
        items = [clean(item) for item in value]
        return [item for item, _ in items], any(changed for _, changed in items)
    if isinstance(value, dict):
        return _clean_object(value)
    return value, False


def _clean_object(value: dict[Any, Any]) -> tuple[dict[Any, Any], bool]:
    """Clean the keys and the members of an object."""
    result: dict[Any, Any] = {}
    removed = False
    for name, member in value.items():
        key, key_changed = clean(name)
        kept, member_changed = clean(member)
        removed = removed or key_changed or member_changed
        if key_changed and (key in value or key in result):
            continue
        result[key] = kept
    return result, removed


def plain(value: Any) -> str:
    """Return a text, number or boolean of JSON as text, with true and false in lower case.

    Return "" for null, a list or an object.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else ""


def capitalized(text: str) -> str:
    """Return a text with a capital first letter; unlike `str.capitalize`, change nothing else.

    A text that begins with a host or the name of a file is unchanged.
    """
    return text if _NAME.match(text) else text[:1].upper() + text[1:]


def whole(text: str) -> int | None:
    """Return the whole number in an address, a form or a header, or None.

    A number with more than 18 digits is None: it fits in no column, and Python refuses to read very
    long ones.
    """
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _DIGITS else None


def in_one_line(text: str) -> str:
    """Return a text with escaped control characters, for one line of a log or of a terminal."""
    return text.translate(_ESCAPED)


def line_for_people(text: str) -> str:
    """Return a text as one line of a message for people, with a blank for each control character.

    What joins letters and emoji stays, though it is not seen.
    """
    return text.translate(_FOR_PEOPLE)


def quoted(value: object, limit: int = 40) -> str:
    """Return the beginning of a value in quotation marks, in one line, for a message.

    A character that cannot be shown or stored, such as a control character, becomes "\ufffd".
    """
    text = str(value)
    shown = "".join(one if one.isprintable() else _stand_in(one) for one in text[:limit])
    return f"“{shown}{'…' if len(text) > limit else ''}”"


def _stand_in(character: str) -> str:
    return " " if character.isspace() else "\ufffd"


def counted(count: float, what: str) -> str:
    """Return a number with its noun: "1 key", "2 keys"."""
    return f"{count} {what}{'' if count == 1 else 's'}"
