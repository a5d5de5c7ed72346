"""How much of a file may be one thing, so that no file fills the memory: see docs/feeds.md."""

MAX_TEXT = 131_072  # characters of one value; what Python's csv module takes by default
MAX_NAME = 255  # characters of the name of a value
MAX_DEPTH = 40  # elements, objects and lists that may be open at a time
MAX_RECORD = 4 * 1024**2  # characters of one record of SwissRETS, each value with its path and...
VALUE = 32  # ...this besides: a million empty lists are no small record
MAX_MEMORY = 512 * 1024**2  # bytes of data of the process that reads a file
MAX_SECONDS = 30  # of processor time for one record in it
BITS = 1024  # of a whole number; a larger one is no float, and is kept as a text
MAX_REASONS = 100  # why one record is refused; the others are counted

NAME = f"has a name of more than {MAX_NAME} characters"
DEPTH = f"is nested deeper than {MAX_DEPTH} levels"
RECORD = f"is larger than {MAX_RECORD:,} characters, with the path of each value"


class TooLong(Exception):
    """A text is longer than MAX_TEXT; says which."""


def written(number: int) -> str:
    """Return the digits of a whole number, as far as Python writes them in a reasonable time."""
    try:
        return str(number)
    except ValueError:
        return f"a number of about {number.bit_length() * 0.30103:,.0f} digits"


def check(path: str, text: str) -> None:
    """Raise TooLong for a text that no field is meant for."""
    if len(text) > MAX_TEXT:
        raise TooLong(f"{path} is longer than {MAX_TEXT:,} characters")


def first_reasons(reasons: list[str]) -> list[str]:
    """Return the first reasons, and a line with the number of the others."""
    more = len(reasons) - MAX_REASONS
    return reasons if more <= 0 else [*reasons[:MAX_REASONS], f"and {more:,} more reasons"]
