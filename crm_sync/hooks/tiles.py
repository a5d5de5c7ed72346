"""What an app shows on the overview: figures, and what waits for a person."""

from dataclasses import dataclass

from django.utils.safestring import SafeString


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


@dataclass(frozen=True)
class Attention:
    """One line of what waits for a person: its state as a badge, why, where, since when.

    Attributes:
        link: the admin page of it; who may not open that page does not see the line (S17).
        remedy: what a person can do about it.
        act: what the button says that leads to `link`.
        next_try: when it is tried again by itself; "" where nothing is.
        is_urgent: something is stalled as long as this is so; shown first.
    """

    badge: SafeString
    text: SafeString | str
    where: str = ""
    since: SafeString | str = ""
    link: str = ""
    remedy: str = ""
    act: str = "Open"
    next_try: SafeString | str = ""
    is_urgent: bool = False


NEWEST = 8  # lines that one function gives; the tiles say how many there are
