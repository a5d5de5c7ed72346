"""The scene: an installation, its people, the platform with its people, and what befalls them."""

import json
import logging
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from lab.world import (
    chat,
    deliveries,
    feeds,
    mail,
    neighbour,
    platform,
    process,
    receiver,
    runtime,
    target,
)
from lab.world.bounds import table as bounds
from lab.world.bounds.clock import STEPS, Clock
from lab.world.call_judge import LIMIT, LOW_LIMIT
from lab.world.chat import Chat
from lab.world.deliveries import Deliveries
from lab.world.feeds import Feeds
from lab.world.judge import OURS_ALONE, Judge
from lab.world.mail import NIGHT, MailServer
from lab.world.neighbour import Neighbour
from lab.world.network import Network
from lab.world.parts import Parts
from lab.world.people import FIELDS, REFERENCES, People
from lab.world.platform import QUICK, TOKEN, Platform
from lab.world.process import SLOTS
from lab.world.receiver import Receiver
from lab.world.record import Record
from lab.world.restore import restore
from lab.world.scheduler import CALM, Ended, Scheduler, Temper
from lab.world.target import Target
from lab.world.template import Template
from lab.world.wires import Wires, is_done
from sandbox.app import Sandbox
from sandbox.state.workspace import Workspace as PlatformState

PLATFORMS = ("rich", "rich", "brief", "strict", "odd")
AHEAD = (0, 0, 0, -200, 500)  # seconds by which the platform's clock may be ahead of ours
EARLY = REFERENCES[:3]  # properties with an order that are there before anything befalls anybody
SOON = 20.0  # seconds until they are
TROUBLE = 90.0  # seconds in which anything may happen
SETTLES = 900.0  # seconds after that in which all must be settled
REST = 400.0  # seconds until no property is due
LATE_EFFECT = 130.0  # seconds in which each call that left has its effect, or never
ASLEEP = 0.5  # of the seeds, whose machine is asleep before anything befalls anybody
RESTORED = 5  # seeds one after the other, of which one restores a backup
NIGHTS = 3  # until people have got all mails
RETRIES = 10  # quarters of an hour until the chat has been tried again
LOOK = 10.0  # seconds from one look to the next whether all is settled


@dataclass(frozen=True)
class Verdict:
    """What became of one seed."""

    seed: int
    wrong: list[str]
    taken: list[str]
    story: list[tuple[float, str]]
    figures: dict[str, float]


class Scene:
    """One seed: the world, and who acts in it.

    Args:
        off: decisions that are not taken; see `Scheduler`.
        alone: bounds that are tried instead of those of the seed, without faults before them.
    """

    def __init__(
        self,
        template: Template,
        seed: int,
        folder: Path,
        off: frozenset[str] = frozenset(),
        alone: Sequence[str] = (),
    ) -> None:
        self.template, self.alone = template, alone
        runtime.outside.seed(f"{seed} outside")
        self.database = folder / "db.sqlite3"
        shutil.copy(template.database, self.database)
        self.world = Scheduler(seed, self._start, off)
        ahead = self.world.choose("ahead", AHEAD)
        self.box = Sandbox(
            token=TOKEN,
            now=lambda: runtime.EPOCH + timedelta(seconds=self.world.now + ahead),
            workspace=PlatformState.from_json(json.loads(template.platform)),
            switches={"platform": self.world.choose("platform", PLATFORMS)},
        )
        limit = self.world.choose("limit", (LIMIT, LIMIT, LOW_LIMIT))
        self.judge = Judge(Record(self.world, self.box, self.database), limit)
        with closing(sqlite3.connect(self.database)) as connection, connection:
            connection.execute("update crm_sync_workspace set max_under_way = ?", (limit,))
        self.parts = self._made(folder)
        self.wires, self.platform = self.parts.wires, self.parts.platform
        if alone:
            self.parts.neighbour.seconds = neighbour.QUICK
        self.people = People(self.parts)
        self.judge.mails.wanted = dict.fromkeys(mail.READERS, runtime.EPOCH)
        self.world.after_commit = self._a_worker_committed
        self._last_look = 0.0

    def _a_worker_committed(self) -> None:
        self.judge.mails.hears_a_worker()
        for orders in (self.judge.orders, self.parts.neighbour.orders):
            orders.looks_at_statuses()

    def _made(self, folder: Path) -> Parts:
        """Make the parts, and let our calls reach the hosts among them."""
        world, judge = self.world, self.judge
        wires = Wires(world, judge, self.template.tokens)
        theirs = Sandbox(
            token=TOKEN,
            now=self.box.now,
            workspace=PlatformState.from_json(json.loads(self.template.neighbour)),
        )
        parts = Parts(
            world,
            judge,
            wires,
            Platform(world, self.box, judge, wires),
            Neighbour(world, judge, wires, theirs),
            Receiver(world, judge),
            Chat(world, judge),
            Feeds(world, judge),
            Deliveries(world, judge, folder),
            MailServer(world, judge),
            folder,
        )
        hosts = {
            platform.HOST: parts.platform,
            receiver.HOST: parts.receiver,
            feeds.HOST: parts.feeds,
            target.HOST: Target(world, judge),
            neighbour.HOST: parts.neighbour,
            chat.HOST: parts.chat,
            mail.HOST: parts.mail,
        }
        Network(world, hosts)
        return parts

    def play(self) -> Verdict:
        """Let all happen, then let it settle, and judge."""
        try:
            self._begin()
            if self.alone:
                self._make_the_others(self.world.now, 0.0)
            else:
                self._trouble()
            self._calm_down()
            began = self.world.now
            self.world.run(began + 1)
            self._until_done("allow", LIMIT)
            self.judge.calls.limit = LIMIT
            self._until_done("command", "pull_properties", "main", "--list-only")
            self._come_to_rest()
            self.wires.job("push now")  # no event tells of their last edits (L2)
            self._until_done("send again")
            self._until_done("fetch now")
            self.world.run(began + SETTLES, self._is_settled)
            self.judge.in_the_end(settled=self._is_settled(look=True))
            self.parts.neighbour.in_the_end()
            self.judge.figures["settled after"] = self.world.now - began
            if not self.judge.record.wrong:
                bounds.ask(Clock(self.parts, self.people), self.alone)
            self._until_mailed()
            self._until_told()
            self.judge.feeds.came_once(feeds.ADDRESS, 1 + self.parts.feeds.versions)
            self.judge.feeds.came_in_turn(deliveries.ADDRESS)
            if self.world.seed % RESTORED == 0 and not self.judge.record.wrong:
                restore(self.parts, self.people)
            self._audit()
        except Ended as error:
            self.judge.record.wrong.append(str(error))
        except AssertionError as error:
            self.judge.record.wrong.append(f"the sandbox: {error}")
        finally:
            self.world.end()
        world = self.world
        figures = self.judge.figures | {
            "steps": world.steps,
            "rings": world.rings,
            "calls": self.platform.calls,
            "edits": self.people.edits + self.platform.edits,
            "seconds": world.now,
        }
        return Verdict(world.seed, self.judge.record.wrong, list(world.taken), world.story, figures)

    def _start(self, kind: str, channel: Any, name: str, now: float) -> None:
        logging.disable(logging.CRITICAL)
        process.run(kind, channel, name, self.world.seed, now, str(self.database))

    def _begin(self) -> None:
        world = self.world
        for slot in SLOTS:
            world.start(slot)
        world.run(3.0)
        for reference in EARLY:
            self.people.create(reference)
            self.people.place(f"early {reference}", reference)
        world.run(world.now + SOON, lambda: len(self.box.workspace.orders) == len(EARLY))
        if world.share("asleep") < ASLEEP:
            self._move_early_orders()
            self.world.sleep(NIGHT)

    def _trouble(self) -> None:
        world = self.world
        began, end = world.now + 1, world.now + TROUBLE - 16
        world.temper = self._temper()
        self._make_the_others(began, 40.0)
        for number in range(self.people.fewest + int(80 * world.share("acts"))):
            self.people.plan(f"act {number}", began, end)
        if world.happens("the broker is away", 0.2):
            begins = began + 60 * world.share("broker begins")
            world.at(begins, lambda: self._broker_away(2 + 20 * world.share("broker seconds")))
        world.run(world.now + TROUBLE)

    def _make_the_others(self, began: float, seconds: float) -> None:
        """Make the properties that are not there from the start, each at a moment of its own."""
        for reference in REFERENCES[len(EARLY) :]:
            moment = began + seconds * self.world.share(f"{reference} made")
            self.world.at(moment, partial(self.people.create, reference))

    def _temper(self) -> Temper:
        """Return how bad this world is: in each way not at all, a little, or much."""

        def chance(name: str, *choices: float) -> float:
            return self.world.choose(f"temper {name}", choices)

        return Temper(
            switch=chance("switch", 0.02, 0.1, 0.4),
            kill=chance("kill", 0.0, 0.001, 0.003, 0.008),
            freeze=chance("freeze", 0.0, 0.0005, 0.001, 0.004),
            message_lost=chance("message lost", 0.0, 0.0, 0.05, 0.4),
            message_twice=chance("message twice", 0.0, 0.05),
            message_late=chance("message late", 0.0, 0.0, 0.1),
            call_lost=chance("call lost", 0.0, 0.0, 0.05, 0.2),
            answer_lost=chance("answer lost", 0.0, 0.05, 0.1, 0.3),
            call_late=chance("call late", 0.0, 0.1, 0.2, 0.4),
            refused=chance("refused", 0.0, 0.03, 0.06, 0.15),
            event_late=chance("event late", 0.0, 0.1, 0.4),
            lagging=chance("lagging", 0.0, 0.0, 0.1, 0.3),
        )

    def _broker_away(self, seconds: float) -> None:
        self.world.tell(f"the broker is away for {seconds:.1f} s, and forgets all")
        self.world.broker_away_until = self.world.now + seconds
        for line in self.world.broker.values():
            line.clear()

    def _calm_down(self) -> None:
        world = self.world
        world.tell("from now on nothing befalls them")
        world.temper = CALM
        self.platform.slowest = QUICK
        self.parts.neighbour.seconds = neighbour.QUICK
        world.broker_away_until = 0.0
        for slot in SLOTS:
            world.start(slot)
        world.wake()

    def _move_early_orders(self) -> None:
        """Let some of them end, so that there is news."""
        for number in range(2 + int(STEPS * self.world.share("early steps"))):
            self.platform.events.go_on(f"early {number}", everywhere=True)
            self.world.run(self.world.now + 3)

    # --- the end ---
    def _until_mailed(self) -> None:
        """Let the machine sleep until people got mail of all news (I33)."""
        self._sleep_while(self.judge.mails.owed, NIGHTS)
        self.judge.record.wrong += [f"{one} (I33)" for one in self.judge.mails.owed()]

    def _until_told(self) -> None:
        """Let the machine sleep until the chat has all messages."""
        self._sleep_while(self.judge.chat.pending, RETRIES)
        if left := self.judge.chat.pending():
            self.judge.record.wrong.append(f"{left} changes were not told in the chat")
        self.judge.chat.have_come()

    def _sleep_while(self, is_open: Callable[[], object], most: int) -> None:
        for _ in range(most):
            if not is_open():
                return
            self.world.sleep(NIGHT)
            self.world.run(self.world.now + LOOK)

    def _until_done(self, *job: Any) -> None:
        while not is_done(self.wires.job(*job)):  # the database may still be locked
            self.world.run(self.world.now + 5)

    def _come_to_rest(self) -> None:
        """Let people change what was refused, and ask of the rows that then wait for nothing."""
        for number, (reference, path) in enumerate(self.judge.refused()):
            field = path if path in FIELDS else OURS_ALONE  # a call may be refused as a whole
            self.people.change(f"refused {number}", reference, field)
        self.world.run(self.world.now + REST, lambda: not self.judge.are_due())
        self.world.sleep(max(0.0, self.judge.calls.last_change + LATE_EFFECT - self.world.now))
        self.judge.at_rest()

    def _is_settled(self, look: bool = False) -> bool:
        """Return whether nothing is to be done, and both sides say the same."""
        if not look and self.world.now - self._last_look < LOOK:
            return False
        self._last_look = self.world.now
        self.people.settle_placements()
        self.judge.open_ends = self.parts.unsettled()
        return not self.judge.open_ends

    def _audit(self) -> None:
        """Let the product look for itself."""
        ended = self.wires.job("command", "audit")
        if not is_done(ended):
            self.judge.record.wrong.append(f"audit: {ended}")
