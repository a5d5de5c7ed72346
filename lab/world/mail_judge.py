"""Judges our mail: all news in it at least once, and not more often than people want it (I33)."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.message import EmailMessage

from lab.world import runtime
from lab.world.record import Record

EVERY = timedelta(minutes=15)  # from one mail to the next (I33)
UNHEARD = timedelta(seconds=30)  # then a worker counts as gone
PATIENCE = timedelta(minutes=2)  # for a mail about it to be decided and to arrive
# How a mail heads the news of each kind that stays news whatever comes later.
HEADS = {"CANCELLED": "cancelled", "DELIVERED": "delivered"}
OTHER = re.compile("Alarm|Over|[0-9]+ alarm|Reminder")  # how the subject of other mail begins
ORDER = re.compile(r"/orders/order/(\d+)/")


@dataclass(frozen=True)
class Told:
    """A kind of news of an order in a mail that left at a moment."""

    reader: str
    kind: str
    order: int
    left: datetime


class MailJudge:
    """What the mail server took.

    Attributes:
        told: the news in all mails.
        last: by reader, the last mail of news that was taken.
        others: all mails that are not about news, which are of alarms and appointments.
        wanted: by reader, since when they want mail for certain; None while they do not.
        is_worker_away: whether no worker is alive for minutes, or was until now.
    """

    def __init__(self, record: Record) -> None:
        self.record = record
        self.told: set[Told] = set()
        self.last: dict[str, EmailMessage] = {}
        self.others: list[EmailMessage] = []
        self.wanted: dict[str, datetime | None] = {}
        self.is_worker_away = False
        self._heard = runtime.EPOCH
        self._silent_until = runtime.EPOCH - PATIENCE

    @property
    def now(self) -> datetime:
        """Our time."""
        return runtime.EPOCH + timedelta(seconds=self.record.world.now)

    def leaves(self, reader: str) -> datetime:
        """Take note that a mail leaves, and return when.

        A row that no mail is about any more (`telling_until`) was settled by another worker while
        the sender of this mail stood still: then it may come twice.
        """
        rows = self.record.ask(
            "select mailed_at from orders_personsettings join auth_user on person_id = auth_user.id"
            " where email = ? and telling_until is not null and mailed_at is not null",
            (reader,),
        )
        for (at,) in rows:
            since = self.now - _moment(at)
            if since < EVERY:
                self.record.wrong.append(f"{reader} gets a mail {since} after the last one (I33)")
        return self.now

    def taken(self, mail: EmailMessage, left: datetime) -> None:
        """Take note of a mail, and of the news in it."""
        kind, reader = "", str(mail["To"])
        self.record.world.tell(f"{reader} gets: {mail['Subject']}")
        is_silent = self.now - self._heard > UNHEARD or self.now - self._silent_until < PATIENCE
        if "No worker" in mail["Subject"] and not (self.is_worker_away or is_silent):
            self.record.wrong.append(f"{reader} gets {mail['Subject']!r}, and workers are alive")
        if OTHER.match(mail["Subject"]):
            self.others.append(mail)
            return
        body = mail.get_body(("plain",))
        for line in body.get_content().splitlines() if body else ():
            if not line.strip():
                kind = ""
            elif found := [one for one, word in HEADS.items() if line.endswith(word)]:
                (kind,) = found
            elif kind and (order := ORDER.search(line)):
                self.told.add(Told(reader, kind, int(order[1]), left))
        self.last[reader] = mail

    def hears_a_worker(self) -> None:
        """Take note that a worker commits; each does so every few seconds unless nobody can."""
        if self.now - self._heard > UNHEARD:
            self._silent_until = self.now
        self._heard = self.now

    def owed(self) -> list[str]:
        """Return the news of which somebody who wants it got no mail."""
        lines = self.record.ask(
            "select news, order_id, created_at from orders_statuschange where news in (?, ?)",
            tuple(HEADS),
        )
        return sorted(
            f"{reader} got no mail that the order {order} is {kind}"
            for reader, since in self.wanted.items()
            for kind, order, at in lines
            if since is not None
            and since < _moment(at)
            and not any(
                one.left >= _moment(at)
                for one in self.told
                if (one.reader, one.kind, one.order) == (reader, kind, order)
            )
        )


def _moment(text: str) -> datetime:
    """Return a moment as SQLite has it."""
    return datetime.fromisoformat(text).replace(tzinfo=runtime.EPOCH.tzinfo)
