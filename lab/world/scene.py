"""The scene: an installation, its people, the platform with its people, and what befalls them."""

import json
import logging
import shutil
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import requests
import time_machine
from django.conf import settings
from django.db import connections

from lab.world import process, runtime
from lab.world.judge import Call, Judge
from lab.world.scheduler import CALM, Ended, Scheduler, Temper, Thread
from sandbox.app import Sandbox
from sandbox.state import callbacks
from sandbox.state.workspace import Workspace as PlatformState
from sandbox.wire import timestamp
from tests.wsgi import WsgiAdapter, environ_of

PLATFORM, OURS, TOKEN = "http://sandbox.test", "http://crm.test", "test-token"
SLOTS = ("web", "beat", "worker-1", "worker-2")
PLATFORMS = ("rich", "rich", "brief", "strict")
TROUBLE = 90.0  # seconds in which anything may happen
SETTLES = 900.0  # seconds after that in which all must be settled
HOLD = ("pause", "main", "--kind", "pushes", "--reason", "a change of the rules")
LATE_ORDER = 150.0  # seconds until a person says that an order never came (I9)
REST = 400.0  # seconds until no property is due
LATE_EFFECT = 130.0  # seconds in which each call that left has its effect, or never
LOOK = 10.0  # seconds from one look to the next whether all is settled
REFERENCES = ("R-1", "Hof Süd", "R-3", "R-4", "R-5", "R-6")
OURS_ALONE, THEIRS_ALONE, BOTH = "title", "floor", "buildingZones"


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
        transport.MOUNTS[PLATFORM] = WsgiAdapter(box)
        made = Workspace.objects.create(slug="main", base_url=PLATFORM, fixed_token=TOKEN)
        configure(made, auth_type="HEADER", now=datetime.now(UTC))
        _, token = tokens.issue(made, name="ERP", scopes=EVERYTHING, now=datetime.now(UTC))
        del transport.MOUNTS[PLATFORM]
    connections.close_all()
    return Template(path, json.dumps(box.workspace.to_json()), token)


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
        self.world.serve = self._serve
        self.box = Sandbox(
            token=TOKEN,
            now=lambda: runtime.EPOCH + timedelta(seconds=self.world.now),
            workspace=PlatformState.from_json(json.loads(template.platform)),
            switches={"platform": self.world.choose("platform", PLATFORMS)},
        )
        self.judge = Judge(self.world, self.box, self.database)
        self.calls = self.edits = 0
        self._last_look = 0.0
        self._asked: set[int] = set()
        self._holds = False

    def play(self) -> Verdict:
        """Let all happen, then let it settle, and judge."""
        try:
            self._begin()
            self.world.run(TROUBLE)
            self._calm_down()
            began = self.world.now
            self.world.run(began + 1)
            while not _is_done(self._job("command", "pull_properties", "main", "--list-only")):
                self.world.run(self.world.now + 5)
            self._come_to_rest()
            self._job("read all")  # no event tells of their last edits (L2)
            self.world.run(began + SETTLES, self._is_settled)
            self.judge.in_the_end(settled=self._is_settled(look=True))
            self._audit()
            self.judge.figures["settled after"] = self.world.now - began
        except Ended as error:
            self.judge.wrong.append(str(error))
        except AssertionError as error:
            self.judge.wrong.append(f"the sandbox: {error}")
        finally:
            self.world.end()
        world = self.world
        figures = self.judge.figures | {
            "steps": world.steps,
            "calls": self.calls,
            "edits": self.edits,
            "seconds": world.now,
        }
        return Verdict(world.seed, self.judge.wrong, list(world.taken), world.story, figures)

    def _start(self, kind: str, channel: Any, name: str, now: float) -> None:
        logging.disable(logging.CRITICAL)
        process.run(kind, channel, name, self.world.seed, now, str(self.database))

    def _begin(self) -> None:
        world = self.world
        for slot in SLOTS:
            world.start(slot)
        world.run(3.0)
        world.temper = self._temper()
        for reference in REFERENCES:
            world.at(4 + 40 * world.share(f"{reference} made"), partial(self._create, reference))
        for number in range(20 + int(80 * world.share("acts"))):
            self._plan(f"act {number}")
        if world.happens("the broker is away", 0.2):
            begins = 5 + 60 * world.share("broker begins")
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
        world.broker_away_until = 0.0
        for slot in SLOTS:
            world.start(slot)
        for proc in world.procs.values():
            proc.frozen_until = min(proc.frozen_until, world.now)

    # --- people ---
    def _plan(self, name: str) -> None:
        """Let one of them do something at some moment."""
        world = self.world
        if name in world.off:
            return
        world.taken[name] = None
        acts = (
            *(self._we_edit, self._we_edit, self._we_edit, self._they_edit, self._they_edit),
            *(self._place, self._go_on, self._go_on, self._hold),
        )
        act = world.choose(f"{name} what", acts)
        world.at(4 + (TROUBLE - 20) * world.share(f"{name} when"), lambda: act(name))

    def _reference(self, name: str) -> str:
        return self.world.choose(f"{name} where", REFERENCES)

    def _create(self, reference: str) -> None:
        """A program of ours creates a property, and asks again until it has an answer."""
        value = f"ours, {reference}"
        self.judge.we_begin(reference, OURS_ALONE, value)

        def answered(status: int | None, body: bytes) -> None:
            self.world.tell(f"we create {reference}: {status or 'no answer'}")
            self.judge.we_edited(reference, OURS_ALONE, value, status)
            if reference not in self.judge.made:
                self.world.at(self.world.now + 3, lambda: self._create(reference))
                return
            seconds = 40 * self.world.share(f"{reference} edited")  # while it may be on its way
            self.world.at(
                self.world.now + seconds,
                lambda: self._change(f"{reference} changed", reference, OURS_ALONE),
            )

        self._ask("PUT", f"/properties/{_quoted(reference)}", {OURS_ALONE: value}, answered)

    def _we_edit(self, name: str) -> None:
        """A program of ours changes a field by the API."""
        reference = self._reference(name)
        if reference in self.judge.made:
            path = self.world.choose(f"{name} field", (OURS_ALONE, BOTH, BOTH))
            self._change(name, reference, path)

    def _change(self, name: str, reference: str, path: str) -> None:
        self.edits += 1
        value = f"ours {self.edits}"
        self.judge.we_begin(reference, path, value)

        def answered(status: int | None, body: bytes) -> None:
            if status not in (None, 200, 503):
                self.judge.wrong.append(f"an edit was answered with {status}: {body[:300]!r}")
            self.judge.we_edited(reference, path, value, status)
            said = status if status else "no answer"
            self.world.tell(f"{name}: we set {path} of {reference} to {value!r}: {said}")

        self._ask("PATCH", f"/properties/{_quoted(reference)}", {path: value}, answered)

    def _they_edit(self, name: str) -> None:
        """Somebody on the platform changes a field of a property that is there."""
        reference = self._reference(name)
        there = self.box.workspace.properties.by_reference(reference)
        if there is None or reference not in self.judge.made:  # a repeated PUT would clear it
            return
        self.edits += 1
        path = self.world.choose(f"{name} field", (THEIRS_ALONE, BOTH, BOTH))
        value: Any = self.edits if path == THEIRS_ALONE else f"theirs {self.edits}"
        self.box.edit_property(there["id"], {path: value})
        self.judge.they_edited(reference, path, value)
        self.world.tell(f"{name}: they set {path} of {reference} to {value!r}")

    def _place(self, name: str) -> None:
        """A program places an order, and asks again until it has an answer."""
        reference = self._reference(name)
        key = name.replace(" ", "-")

        def ask() -> None:
            self._ask(
                "POST",
                f"/properties/{_quoted(reference)}/placements",
                {"user": "AGENT-1", "products": ["GROUND_PHOTO"]},
                answered,
                key=key,
            )

        def answered(status: int | None, body: bytes) -> None:
            self.world.tell(f"{name}: we order for {reference}: {status or 'no answer'}")
            if status in (200, 202):
                self.judge.placed(reference, key, json.loads(body)["id"])
            elif status is None or status in (409, 503):
                self.world.at(self.world.now + 5, ask)
            elif status != 404:
                self.judge.wrong.append(f"an order was answered with {status}: {body[:300]!r}")

        ask()

    def _go_on(self, name: str) -> None:
        """The platform's people go on with all orders."""
        moves = self.box.step()
        self.world.tell(f"{name}: the platform moves {moves} assignments")
        self._call_back()

    def _hold(self, name: str) -> None:
        """A person holds what goes to the platform, and some time later lets it go on (I34)."""
        seconds = 1 + 20 * self.world.share(f"{name} seconds")
        if self._holds:
            return
        self._holds = True

        def held(result: Any) -> None:
            if _is_done(result):
                self.judge.holds(True)
                self.world.tell(f"{name}: a person holds all pushes for {seconds:.1f} s")
                self.world.at(self.world.now + seconds, let_go)
            else:
                self._holds = False

        def let_go() -> None:
            self.judge.holds(False)
            self._give(("command", "resume", "main", "--kind", "pushes"), gone_on)

        def gone_on(result: Any) -> None:
            if not _is_done(result):  # they see that it is still held
                self.world.at(self.world.now + 3, let_go)
            else:
                self._holds = False

        self._give(("command", *HOLD), held)

    def _ask(
        self,
        method: str,
        path: str,
        body: Any,
        answered: Callable[[int | None, bytes], None],
        key: str = "",
    ) -> None:
        headers = {"Authorization": f"Bearer {self.template.token}"}
        if key:
            headers["Idempotency-Key"] = key
        content = json.dumps(body).encode()
        self._request(method, f"{OURS}/api/v1{path}", headers, content, answered)

    def _request(
        self,
        method: str,
        url: str,
        headers: dict[str, str],
        content: bytes,
        answered: Callable[[int | None, bytes], None],
    ) -> None:
        """Send a request to the web; without a thread that is free it waits a little."""
        began = self.world.now
        headers = {"Content-Type": "application/json", **headers}
        request = requests.Request(method, url, headers, data=content).prepare()
        packed = process.packed(environ_of(request))

        def done(result: Any) -> None:
            if result is None or self.world.now - began > callbacks.SECONDS:
                answered(None, b"")
            elif result[0] == "failed":
                self.judge.wrong.append(f"the web failed: {result[1]}")
            else:
                answered(*result[1:])

        def give() -> None:
            thread = self.world.idle("web")
            if thread is not None:
                self.world.give(thread, ("request", *packed), done)
            elif "web" not in self.world.procs or self.world.now - began > callbacks.SECONDS:
                answered(None, b"")
            else:
                self.world.at(self.world.now + 0.01, give)

        give()

    # --- the platform ---
    def _call_back(self) -> None:
        """Send each event of the platform once (§6.1)."""
        while (todo := self.box._take_pending()) is not None:
            webhook, event, _ = todo
            at = timestamp(self.box.now())
            if "timestamp" in event:
                event = event | {"timestamp": at}
            record: dict[str, Any] = {
                "id": str(uuid.UUID(int=len(self.judge.events) + 1)),
                "triggeredAt": at,
                "payload": event,
                "headers": callbacks.event_headers(event),
            }
            url, headers = callbacks.authenticate(webhook)
            named = {**record["headers"], **headers}
            self.judge.events.append(event)
            delay = 3 * self.world.share(f"event {len(self.judge.events)} delay") ** 4
            self.world.at(
                self.world.now + delay,
                lambda webhook=webhook, url=url, named=named, event=event, record=record: (
                    self._send_event(webhook, url, named, event, record)
                ),
            )

    def _send_event(
        self, webhook: Any, url: str, named: dict[str, str], event: Any, record: dict[str, Any]
    ) -> None:
        def answered(status: int | None, body: bytes) -> None:
            is_taken = status is not None and 200 <= status < 300
            ending = {"statusCode": status} if status else {"errorMessage": "no answer"}
            self.box._remember(record | ending | {"success": is_taken}, webhook)
            what = f"{event['event']} of {event.get('orderId', '')}"
            self.world.tell(f"the platform calls: {what}: {status or 'no answer'}")
            if is_taken:
                self.judge.acknowledged(event)

        self._request(webhook["method"], url, named, callbacks.encode(event), answered)

    def _serve(self, thread: Thread, detail: Any, deadline: float) -> None:
        """Let a call of ours reach the platform, or not, and its answer come back, or not."""
        environ, content = detail
        world, temper, self.calls = self.world, self.world.temper, self.calls + 1
        name = f"{thread.name} call {thread.points}"
        what = f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']} of {thread.name}"
        call = self.judge.leaves(thread, environ, content)
        delay = 0.005 + 0.2 * world.share(f"{name} takes") ** 6

        def serve() -> None:
            before = self.judge.before(call)
            hidden = self._hide_twins(call)
            answer = process.answer_of(self.box, environ, content)
            self.box.workspace.properties.update(hidden)
            self.judge.served(call, before, int(answer[0][:3]))
            if world.happens(f"{name} answer lost", temper.answer_lost):
                world.tell(f"the answer to {what} is lost: {answer[0]}")
                return
            self._answer(thread, answer, waits)
            self._call_back()

        waits = thread.waits
        if world.happens(f"{name} lost", temper.call_lost):
            world.tell(f"{what} is lost")
            return
        if world.happens(f"{name} refused", temper.refused):
            status, body = self._refusal(f"{name} status", call)
            world.tell(f"{what} is answered with {status[:3]}")
            world.at(world.now + delay, lambda: self._answer(thread, (status, [], body), waits))
            return
        if world.happens(f"{name} late", temper.call_late):
            left = max(0.0, deadline - world.now)
            # Past its deadline as well, as long as a call may still arrive (I2, I8).
            most = (6 if environ["REQUEST_METHOD"] == "POST" else 1.5) * left
            delay = most * 0.99 * world.share(f"{name} delay")
            world.tell(f"{what} takes {delay:.1f} s")
        world.at(world.now + delay, serve)

    def _refusal(self, name: str, call: Call) -> tuple[str, bytes]:
        """Return an answer of a platform that cannot, or does not want one field (I10)."""
        named = [path for path in (OURS_ALONE, BOTH) if path in call.body]
        kinds = ("500 No", "503 No", "429 No", *(["400 No"] * 2 if named else ()))
        status = self.world.choose(name, kinds)
        errors = [{"field": named[-1], "message": "no"}] if status == "400 No" else []
        return status, json.dumps({"errors": errors}).encode()

    def _hide_twins(self, call: Call) -> dict[str, Any]:
        """Take away what a creation would meet, in a world whose platform takes it again (A45)."""
        there = self.box.workspace.properties
        if call.method != "POST" or not call.reference or self.world.share("twins") < 0.5:
            return {}
        found = [key for key, one in there.items() if one["objectReferenceId"] == call.reference]
        return {key: there.pop(key) for key in found}

    def _answer(self, thread: Thread, answer: Any, waits: int) -> None:
        if thread.process.is_alive and thread.state == "call" and thread.waits == waits:
            self.judge.hears(thread)
            self.world.ready(thread, answer)

    # --- the end ---
    def _come_to_rest(self) -> None:
        """Let people change what was refused, and ask of the rows that then wait for nothing."""
        for number, (reference, path) in enumerate(self.judge.refused()):
            self._change(f"refused {number}", reference, path)
        self.world.run(self.world.now + REST, lambda: self.judge.is_at_rest(LATE_EFFECT))
        self.judge.at_rest()

    def _is_settled(self, look: bool = False) -> bool:
        """Return whether nothing is to be done, and both sides say the same."""
        if not look and self.world.now - self._last_look < LOOK:
            return False
        self._last_look = self.world.now
        self._settle_placements()
        self.judge.open_ends = self.judge.unsettled()
        return not self.judge.open_ends

    def _settle_placements(self) -> None:
        """A person looks at the platform for each order of which nobody knows, once it is late."""
        for number, reference in self.judge.uncertain(LATE_ORDER):
            if number not in self._asked:
                self._asked.add(number)
                order = self.judge.unknown_order(reference)
                found = ("--order", order) if order else ("--not-placed",)
                self.world.tell(f"a person settles the placement {number}: {' '.join(found)}")
                words = ("settle_placement", "main", str(number), *found)
                self._give(
                    ("command", *words), lambda _, number=number: self._asked.discard(number)
                )

    def _audit(self) -> None:
        """Let the product look for itself."""
        ended = self._job("command", "audit")
        if not _is_done(ended):
            self.judge.wrong.append(f"audit: {ended}")

    def _job(self, *job: str) -> Any:
        """Let a worker do a job to its end; return how it ended."""
        ended: list[Any] = []
        self._give(job, ended.append)
        self.world.run(self.world.now + 120, lambda: bool(ended))
        return ended[0] if ended else ("not ended",)

    def _give(self, job: tuple[str, ...], done: Callable[[Any], None]) -> None:
        """Give a job to the next thread of a worker that is free."""
        thread = self.world.idle("worker")
        if thread:
            self.world.give(thread, job, done)
        else:
            self.world.at(self.world.now + 0.1, lambda: self._give(job, done))


def _is_done(result: Any) -> bool:
    """Return whether a command came to a good end."""
    return bool(result) and result[:2] == ("ended", 0)


def _quoted(reference: str) -> str:
    return quote(reference, safe="")
