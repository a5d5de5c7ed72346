"""The scene: an installation, its people, the platform with its people, and what befalls them."""

import json
import logging
import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import time_machine
from django.conf import settings
from django.db import connections

from lab.world import feeds, platform, process, receiver, runtime, target
from lab.world.bounds import Bounds
from lab.world.call_judge import LIMIT, LOW_LIMIT
from lab.world.feeds import Feeds
from lab.world.judge import RULES, Judge
from lab.world.network import Network
from lab.world.people import REFERENCES, People
from lab.world.platform import ADDRESS, QUICK, TOKEN, Platform
from lab.world.receiver import Receiver
from lab.world.record import Record
from lab.world.scheduler import CALM, Ended, Scheduler, Temper
from lab.world.target import Target
from lab.world.wires import OURS, Wires, is_done
from sandbox.app import Sandbox
from sandbox.state.workspace import Workspace as PlatformState
from tests.wsgi import WsgiAdapter

SLOTS = ("web", "beat", "worker-1", "worker-2")
PLATFORMS = ("rich", "rich", "brief", "strict")
AHEAD = (0, 0, 0, -200, 500)  # seconds by which the platform's clock may be ahead of ours
EARLY = REFERENCES[:3]  # properties with an order that are there before anything befalls anybody
SOON = 20.0  # seconds until they are
TROUBLE = 90.0  # seconds in which anything may happen
SETTLES = 900.0  # seconds after that in which all must be settled
REST = 400.0  # seconds until no property is due
LATE_EFFECT = 130.0  # seconds in which each call that left has its effect, or never
LOOK = 10.0  # seconds from one look to the next whether all is settled


@dataclass
class Template:
    """A migrated database with a workspace whose webhook is set, and the platform to it."""

    database: Path
    platform: str
    token: str


@dataclass(frozen=True)
class Verdict:
    """What became of one seed."""

    seed: int
    wrong: list[str]
    taken: list[str]
    story: list[tuple[float, str]]
    figures: dict[str, float]


def make_template(folder: Path) -> Template:
    """Set the scene once; each seed begins with a copy."""
    from crm_sync.api import tokens
    from crm_sync.models import Workspace
    from crm_sync.platform import transport
    from crm_sync.webhook.configuration import configure
    from crm_sync.work import turn
    from properties.domain.owner_change import set_owner
    from properties.merge import Owner
    from tests.api import EVERYTHING
    from tests.databases import migrated_image

    path = folder / "template.sqlite3"
    image = migrated_image()
    connections.settings["default"]["NAME"] = str(path)
    if image.exists():
        path.write_bytes(image.read_bytes())
    else:
        process._command("migrate", "--verbosity", "0")
    settings.PUBLIC_BASE_URL = OURS
    settings.ALLOWED_HOSTS = ["crm.test"]
    with time_machine.travel(runtime.EPOCH - timedelta(hours=1), tick=False):
        box = Sandbox(token=TOKEN, now=lambda: datetime.now(UTC))
        transport.MOUNTS[ADDRESS] = WsgiAdapter(box)
        made = Workspace.objects.create(slug="main", base_url=ADDRESS, fixed_token=TOKEN)
        configure(made, auth_type="HEADER", now=datetime.now(UTC))
        _, token = tokens.issue(made, name="ERP", scopes=EVERYTHING, now=datetime.now(UTC))
        turn.waiting(datetime.now(UTC))  # builds SQL once, not anew in each process
        _subscribe(made.pk)
        _fetch(made.pk)
        _upload(made.pk)
        for field, owner in RULES.items():
            set_owner(made.pk, field, Owner[owner], now=datetime.now(UTC))
        del transport.MOUNTS[ADDRESS]
    connections.close_all()
    return Template(path, json.dumps(box.workspace.to_json()), token)


def _subscribe(workspace_id: int) -> None:
    from crm_sync import hooks
    from crm_sync.models import Subscription
    from crm_sync.outgoing import outbox

    Subscription.objects.create(
        workspace_id=workspace_id,
        address=receiver.ADDRESS,
        kinds=[one.name for one in hooks.plugged().message_kinds],
        secret=receiver.SECRET,
        due_at=datetime.now(UTC),
    )
    outbox.note_kinds(workspace_id)


def _upload(workspace_id: int) -> None:
    from orders.models import Target

    Target.objects.create(
        workspace_id=workspace_id,
        name="CRM",
        kind="WEBDAV",
        address=target.ADDRESS,
        user="crm",
        secret="secret",
        due_at=datetime.now(UTC),
    )


def _fetch(workspace_id: int) -> None:
    """Make a source; a person has seen a file of it before, so the next ones are imported."""
    from properties.models import Import, Sender, Source

    now = datetime.now(UTC)
    sender = Sender.objects.create(workspace_id=workspace_id, name="Agency")
    source = Source.objects.create(
        workspace_id=workspace_id,
        sender=sender,
        address=feeds.ADDRESS,
        every_minutes=1,
        due_at=now,
        set_at=now,
    )
    Import.objects.create(
        workspace_id=workspace_id,
        sender=sender,
        source=source,
        state=Import.State.DONE,
        released_at=now,
        uploaded_at=now,
        ended_at=now,
    )


class Scene:
    """One seed: the world, and who acts in it.

    Args:
        off: decisions that are not taken; see `Scheduler`.
    """

    def __init__(
        self, template: Template, seed: int, folder: Path, off: frozenset[str] = frozenset()
    ) -> None:
        self.template = template
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
        self.wires = Wires(self.world, self.judge, template.token)
        self.platform = Platform(self.world, self.box, self.judge, self.wires)
        self.receiver = Receiver(self.world, self.judge)
        self.feeds = Feeds(self.world, self.judge)
        hosts = {
            platform.HOST: self.platform,
            receiver.HOST: self.receiver,
            feeds.HOST: self.feeds,
            target.HOST: Target(self.world, self.judge),
        }
        Network(self.world, hosts)
        self.people = People(self.world, self.judge, self.wires, self.platform, self.feeds, folder)
        self.world.after_commit = self.judge.orders.looks_at_statuses
        self._last_look = 0.0

    def play(self) -> Verdict:
        """Let all happen, then let it settle, and judge."""
        try:
            self._begin()
            self.world.run(self.world.now + TROUBLE)
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
            self.judge.figures["settled after"] = self.world.now - began
            if not self.judge.record.wrong:
                self._bounds().ask()
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
        began, end = world.now + 1, world.now + TROUBLE - 16
        world.temper = self._temper()
        for reference in REFERENCES[len(EARLY) :]:
            moment = began + 40 * world.share(f"{reference} made")
            world.at(moment, partial(self.people.create, reference))
        for number in range(self.people.fewest + int(80 * world.share("acts"))):
            self.people.plan(f"act {number}", began, end)
        if world.happens("the broker is away", 0.2):
            begins = began + 60 * world.share("broker begins")
            world.at(begins, lambda: self._broker_away(2 + 20 * world.share("broker seconds")))

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
        world.broker_away_until = 0.0
        for slot in SLOTS:
            world.start(slot)
        for proc in world.procs.values():
            proc.frozen_until = min(proc.frozen_until, world.now)
        world.frozen_until = min(world.frozen_until, world.now)

    # --- the end ---
    def _until_done(self, *job: Any) -> None:
        while not is_done(self.wires.job(*job)):  # the database may still be locked
            self.world.run(self.world.now + 5)

    def _come_to_rest(self) -> None:
        """Let people change what was refused, and ask of the rows that then wait for nothing."""
        for number, (reference, path) in enumerate(self.judge.refused()):
            self.people.change(f"refused {number}", reference, path)
        self.world.run(self.world.now + REST, lambda: self.judge.is_at_rest(LATE_EFFECT))
        self.judge.at_rest()

    def _is_settled(self, look: bool = False) -> bool:
        """Return whether nothing is to be done, and both sides say the same."""
        if not look and self.world.now - self._last_look < LOOK:
            return False
        self._last_look = self.world.now
        self.people.settle_placements()
        self.judge.open_ends = self.judge.unsettled()
        return not self.judge.open_ends

    def _bounds(self) -> Bounds:
        return Bounds(self.world, self.judge, self.wires, self.platform, self.people, self.receiver)

    def _audit(self) -> None:
        """Let the product look for itself."""
        ended = self.wires.job("command", "audit")
        if not is_done(ended):
            self.judge.record.wrong.append(f"audit: {ended}")
