"""People at pages, beside programs, feeds, and their own second window (I1, I4, I9)."""

from collections.abc import Callable
from dataclasses import replace

from lab.world.agents import CHOICES, LOOKS, ORDERING, with_product
from lab.world.bounds.clock import SOON, Clock
from lab.world.browser import Got, Page, Values
from lab.world.judge import BOTH, IMPORTED, OURS_ALONE
from lab.world.people import REFERENCES
from lab.world.scheduler import CALM, Ended

FILLED = (OURS_ALONE, BOTH, IMPORTED)
OPEN = 4.0  # seconds at most for which a page is open
BURST, BURST_LASTS = 20, 0.03  # edits, and the seconds that a feed of six takes
UNUSED = 3_700.0  # seconds
ANSWERS = 20.0  # seconds in which a page is answered
ONCE, TWICE = 0.1, 0.9  # shares of `with_product`


def meetings(on: Clock) -> None:
    """Each property is edited on a page, by programs, and by a feed, within the same moments."""
    world, made = on.world, [one for one in REFERENCES if one in on.judge.made]
    world.temper = replace(CALM, switch=0.4)
    on.people.agents.set("bound meeting all", made, FILLED)
    for one in made:
        change = _changing(on, f"bound meeting {one}", one)
        name = f"bound meeting page {one}"
        on.people.agents.edit(name, one, FILLED, thinks=OPEN, beside=change)
    world.run(world.now + 2 * OPEN)
    on.people.load("bound-meeting")
    for edit in range(BURST):
        name = f"bound burst {edit}"
        change = _changing(on, name, world.choose(f"{name} where", made))
        world.at(world.now + BURST_LASTS * world.share(f"{name} when"), change)
    world.run(world.now + OPEN)
    world.temper = CALM
    on.within(
        SOON,
        "what people, programs and feeds wrote is there",
        lambda: not on.judge.lost_edits(FILLED),
    )
    for text in on.judge.lost_edits(FILLED):
        on.wrong(text)


def _changing(on: Clock, name: str, reference: str) -> Callable[[], object]:
    """Return what lets a program change one of two fields of a property."""
    path = on.world.choose(f"{name} field", (OURS_ALONE, BOTH))
    return lambda: on.people.change(name, reference, path)


def two_windows(on: Clock) -> None:
    """An order is chosen anew in a second window; the review in the first one places nothing."""
    desk = _Desk(on)
    choices = desk.begin(REFERENCES[0])
    older, newer = desk.review(choices, ONCE), desk.review(choices, TWICE)
    desk.place(older)
    if desk.state(choices) != "READY":
        on.wrong("an older review of an order has placed a newer choice (I9)")
    desk.place(newer)
    on.within(SOON, "the order of a person is there", lambda: desk.state(choices) == "PLACED")


def unused_sessions(on: Clock) -> None:
    """A session that nobody has used for an hour is over: the page asks for a login (S17)."""
    desk = _Desk(on)
    desk.open(ORDERING)
    on.world.sleep(UNUSED)
    if not desk.open(ORDERING, logs_in=False).asks_to_log_in:
        on.wrong("a session is open that nobody has used for an hour (S17)")
    if desk.open(ORDERING).status != 200:
        on.wrong("a person who logs in again does not get the page")


class _Desk:
    """A person at the pages of an order, step by step."""

    def __init__(self, on: Clock) -> None:
        self.on, self.agents = on, on.people.agents
        self.browser = self.agents.browsers[0]

    def begin(self, reference: str) -> str:
        """Begin an order; return the address of its choices."""
        self.open(ORDERING)
        posted = {"property": [str(self.agents.key_of(reference))]}
        return self._post(f"{ORDERING}begin/", posted).location.replace("/review/", "/choose/")

    def review(self, choices: str, product: float) -> tuple[str, str]:
        """Choose a product; return address and revision of the review."""
        for _ in range(LOOKS):
            values = self.open(choices).form(*CHOICES)
            address = self._post(choices, with_product(values, product)).location
            if "/review/" in address:
                return address, str(self.open(address).hidden("revision"))
            self.on.world.run(self.on.world.now + 1)
        raise Ended(f"{choices} does not lead to a review")

    def place(self, review: tuple[str, str]) -> None:
        """Press *Place this order* on a review."""
        address, revision = review
        self._post(address, {"step": ["place"], "revision": [revision]})

    def state(self, choices: str) -> str:
        """Return the state of the placement."""
        (number,) = (part for part in choices.split("/") if part.isdigit())
        row = "select state from orders_placement where id = ?"
        return str(self.on.judge.record.ask(row, (number,))[0][0])

    def open(self, address: str, *, logs_in: bool = True) -> Page:
        """Open a page, and log in if it asks for that, unless told otherwise."""
        ask = self.browser.open if logs_in else self.browser.get
        return self._await(lambda got: ask(address, got))

    def _post(self, address: str, values: Values) -> Page:
        return self._await(lambda got: self.browser.post(address, values, got))

    def _await(self, ask: Callable[[Got], None]) -> Page:
        """Let the world go on until a page is there."""
        pages: list[Page | None] = []
        ask(pages.append)
        self.on.world.run(self.on.world.now + ANSWERS, lambda: bool(pages))
        if not pages or pages[0] is None:
            raise Ended("a page is not answered")
        return pages[0]
