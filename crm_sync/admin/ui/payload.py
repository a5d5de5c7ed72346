"""Pure: the raw bytes of a received event as a person reads them."""

import json


def readable(body: bytes) -> tuple[str, bool]:
    """Return the body as text, and whether it is JSON (then indented).

    What is not JSON is shown as the bytes that came: an unreadable body is a finding, and a
    guessed encoding would hide it.
    """
    try:
        text = json.dumps(json.loads(body), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return repr(body), False
    # Lone surrogates cannot leave in an answer of ours.
    return text.encode("utf-8", "backslashreplace").decode(), True


def indented(text: str) -> str:
    """Return the JSON of a text indented; what is not JSON, or was cut, stays as it is."""
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def raw(body: bytes) -> str:
    """Return the bytes as they came where they are printable UTF-8, else as Python writes them."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return repr(body)
    return text if all(sign.isprintable() or sign in "\r\n\t" for sign in text) else repr(body)
