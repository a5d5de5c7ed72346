"""What one line of IDX says so far: values by path, what is set aside, and what of that is bad."""

from typing import Any

from properties.catalog.numbers import Unreadable
from properties.feeds.idx import values

Texts = dict[str, str]  # what is not blank in a line, by column name


class Draft:
    """Values by path of the property model; texts set aside by the name of their column."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.leftover: dict[str, Any] = {}
        self.warnings: list[str] = []

    def set_aside(self, name: str, text: str, why: str = "") -> None:
        """Keep a text under the name of its column; `why` says what is wrong with it."""
        self.leftover[name] = text
        if why:
            self.warnings.append(f"{name}: {why}")

    def refuse(self, name: str, text: str, error: Unreadable) -> None:
        """Keep a text that is no value of its column; words that say "none" are no mistake."""
        is_harmless = not str(error) or values.says_nothing(text)
        self.set_aside(name, text, "" if is_harmless else str(error))
