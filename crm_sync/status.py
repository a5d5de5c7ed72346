"""What every app has to say about its state: lines that it adds when it loads (design §3)."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Tile:
    """One figure of the dashboard.

    Attributes:
        tone: "good", "info", "warning" or "danger"; colours the figure, the text says the same.
        link: the admin page that lists what was counted.
    """

    title: str
    value: int
    tone: str
    link: str
    hint: str = ""


TILES: list[Callable[[], list[Tile]]] = []
