"""Pure functions that show the raw bytes of a received event to a person."""

import json


def readable(body: bytes) -> tuple[str, bool]:
    """Return the body as text, indented if it is JSON, and whether it is JSON.

    A body that is not JSON is shown as bytes: a guessed encoding would hide what was wrong.
    """
    try:
        text = json.dumps(json.loads(body), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return repr(body), False
    # A response cannot encode lone surrogates.
    return text.encode("utf-8", "backslashreplace").decode(), True


def indented(text: str) -> str:
    """Return JSON indented. A text that is not JSON, or was cut, is returned unchanged."""
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def raw(body: bytes) -> str:
    """Return printable UTF-8 as text, and other bytes as their `repr`."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return repr(body)
    return text if all(sign.isprintable() or sign in "\r\n\t" for sign in text) else repr(body)
