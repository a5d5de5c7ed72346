"""The platform of the scene: it answers our calls, or not, and its people edit."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import requests

from lab.world import process
from lab.world.call_judge import Call
from lab.world.events import Events
from lab.world.judge import BOTH, LIST, OURS_ALONE, RULES, THEIRS_ALONE, Judge
from lab.world.network import Delivery, refusing
from lab.world.process import Answer, Environ
from lab.world.scheduler import Ended, Scheduler, Thread
from lab.world.wires import Wires
from sandbox.app import Sandbox
from sandbox.state import callbacks
from sandbox.wire import timestamp
from tests.wsgi import environ_of

HOST, TOKEN = "sandbox.test", "test-token"
ADDRESS = f"http://{HOST}"
QUICK = 0.2  # seconds that an answer takes at most, unless something befalls it
THEIRS = (THEIRS_ALONE, BOTH, BOTH, LIST, *RULES)  # the fields that their people edit
LONGEST_LAG = 9.0  # seconds of a copy behind what it copies
UNSENT = ("", "price", "no field")  # what a refusal may name, although the call has no such field
STATUS_EVENTS = ("ORDER_STATUS_UPDATED", "ASSIGNMENT_STATUS_UPDATED")
LIES = ("COMPLETED", "CANCELLED", "IN_PROGRESS")
ENDS = ("9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z")  # of the calendar


@dataclass
class Manner:
    """How the platform answers while a bound is tried.

    Attributes:
        seconds: of each answer, by its call; infinite for a call that is never answered.
        back: seconds from the effect of a call to its answer.
        is_down: whether each call is answered with 503.
        fails: the status line of the answer to a call that has no effect, or "".
        takes_twins: whether it creates a property that it has (A45), as in half of the seeds.
        spoils: the status line of the answer to a call that has had its effect, or "" for its own.
    """

    seconds: Callable[[Call], float] | None = None
    back: Callable[[Call], float] = lambda _: 0.0
    is_down: bool = False
    fails: Callable[[Call], str] = lambda _: ""
    takes_twins: bool = False
    spoils: Callable[[Call], str] = lambda _: ""


class Platform:
    """The sandbox behind wires that lose, delay and refuse as the seed wants it."""

    def __init__(self, world: Scheduler, box: Sandbox, judge: Judge, wires: Wires) -> None:
        self.world, self.box, self.judge, self.wires = world, box, judge, wires
        self.events = Events(world, wires, judge, box, judge.orders)
        self.manner = Manner()
        self.calls = self.edits = 0
        self.slowest = world.choose("slowest answer", (QUICK, QUICK, 3.0))  # seconds

    # --- its people ---
    def edit(self, name: str, reference: str, fields: Sequence[str] = THEIRS) -> None:
        """Somebody there changes a field of a property that is there, one of these if they can."""
        there = self.box.workspace.properties.by_reference(reference)
        if there is None or reference not in self.judge.made:  # a repeated PUT would clear it
            return
        self.edits += 1
        mine = [one for one in THEIRS if one in fields] or THEIRS
        path = self.world.choose(f"{name} field", mine)
        value: Any = f"theirs {self.edits}"
        if path == THEIRS_ALONE:
            value = self.edits
        elif path == LIST:
            value = [{"url": f"https://theirs.test/{self.edits}"}]
        self.box.edit_property(there["id"], {path: value})
        self.judge.they_edited(reference, path, value)
        self.world.tell(f"{name}: they set {path} of {reference} to {value!r}")

    def make(self, document: dict[str, Any]) -> None:
        """Somebody there makes a property."""
        headers = {"Authorization": f"Bearer {TOKEN}"}
        url = f"{ADDRESS}/v1/real-estate-properties"
        request = requests.Request("POST", url, headers, json=document).prepare()
        status, *_ = process.answer_of(self.box, *process.packed(environ_of(request)))
        if not status.startswith("201"):
            raise Ended(f"the platform does not make {document}: {status}")
        self.events.send()

    def appoint(self, key: str, hour: int) -> None:
        """They set the appointment of an assignment to an hour of the next day."""
        day = self.box.now().date() + timedelta(days=1)
        self.box.set_appointment(key, f"{day}T{hour:02}:00:00Z")
        self.world.tell(f"the platform sets the appointment of {key} to {hour} o'clock")
        self.events.send()

    def lie(self, name: str) -> None:
        """Somebody who knows the secret tells of a status or a time that is not true (S10)."""
        told = [event for event in self.events.sent if event["event"] in STATUS_EVENTS]
        webhook = self.box.workspace.webhook
        if not told or not webhook:
            return
        true = self.world.choose(f"{name} of", told)
        key = true.get("assignmentId") or true["orderId"]
        self.judge.orders.lies.add(key)
        event = true | {"occurredAt": timestamp(self.box.now())}
        if "assignmentId" in true and self.world.share(f"{name} appointment") < 0.4:
            moment = self.world.choose(f"{name} moment", ENDS)
            event |= {"event": "APPOINTMENT_DATE_UPDATED", "scheduledAt": moment}
            self.world.tell(f"{name}: somebody lies that the appointment of {key} is at {moment}")
        else:
            event |= {"newStatus": self.world.choose(name, LIES)}
            self.world.tell(f"{name}: somebody lies that {key} is {event['newStatus']}")
        url, headers = callbacks.authenticate(webhook)
        named = {**callbacks.event_headers(event), **headers}
        body = callbacks.encode(event)
        self.wires.request(webhook["method"], url, named, body, lambda *_: None)

    # --- our calls ---
    def receive(self, name: str, thread: Thread, environ: Environ, content: bytes) -> Delivery:
        """See `Host`."""
        if environ["PATH_INFO"].startswith("/files/"):
            return self._file(thread, environ, content)
        self.calls += 1
        method = environ["REQUEST_METHOD"]
        call = self.judge.calls.leaves(thread, environ, content)
        seconds = 0.005 + self.slowest * self.world.share(f"{name} takes") ** 6

        def serve() -> Answer:
            before = self.judge.record.there(call.reference)
            hidden, lag = self._hide_twins(call), self._lag(name, call)
            with self.box.workspace.properties.as_at(self.box.now() - timedelta(seconds=lag)):
                answer = process.answer_of(self.box, environ, content)
            self.box.workspace.properties.update(hidden)
            self.judge.served(call, before, int(answer[0][:3]), lag)
            spoiled = self.manner.spoils(call)
            return (spoiled, [], b"") if spoiled else answer

        fails = self.manner.fails(call)
        no: Answer = (fails, [], b"")
        return Delivery(
            what=f"{method} {environ['PATH_INFO']} of {thread.name}",
            seconds=self.manner.seconds(call) if self.manner.seconds else seconds,
            serve=serve,
            refuse=lambda decision: no if fails else self._refusal(decision, call),
            back=self.manner.back(call),
            is_refused=self.manner.is_down or bool(fails),
            # A world has few creations and orders, and what becomes of them matters most (I8, I9).
            often=3 if method == "POST" else 1,
            late=6 if method == "POST" else 1.5,
            after=self.events.send,
        )

    def _file(self, thread: Thread, environ: Environ, content: bytes) -> Delivery:
        """Return the delivery of a file, whose address is enough, and which may end too soon."""
        name = f"{thread.name} file {thread.points}"

        def serve() -> Answer:
            status, headers, body = process.answer_of(self.box, environ, content)
            if self.world.happens(f"{name} cut", self.world.temper.answer_lost):
                self.world.tell(f"a file for {thread.name} is cut off")
                body = body[: int(len(body) * self.world.share(f"{name} cut at"))]
                is_in_list = self._is_size_in_list(environ["PATH_INFO"])
                if is_in_list and self.world.share(f"{name} unsized") < 0.5:
                    headers = [one for one in headers if one[0] != "Content-Length"]
            return status, headers, body

        return Delivery(
            what=f"a file for {thread.name}",
            seconds=0.05,
            serve=serve,
            refuse=refusing(self.world, ("503 No",)),
            is_refused=self.manner.is_down,
        )

    def _is_size_in_list(self, path: str) -> bool:
        """Return whether the list of materials tells the size of a file (A38)."""
        key, quality = path.split("/")[2:4]
        known = {one["id"] for some in self.box.workspace.materials.values() for one in some}
        return key in known and quality != "thumbnail"

    def _refusal(self, name: str, call: Call) -> Answer:
        """Return an answer of a platform that cannot, or does not want one field (I10)."""
        named = [path for path in (OURS_ALONE, BOTH) if path in call.body]
        kinds = ("500 No", "503 No", "429 No", *(["400 No"] * 2 if named else ()))
        status = "503 No" if self.manner.is_down else self.world.choose(name, kinds)
        field = self.world.choose(f"{name} field", (*named[-1:] * 2, *UNSENT))
        errors = [{"field": field, "message": "no"}] if status == "400 No" else []
        return status, [], json.dumps({"errors": errors}).encode()

    def _lag(self, name: str, call: Call) -> float:
        """Return by how many seconds the copy lags behind that this read comes from."""
        is_read = call.method == "GET" and "/real-estate-properties" in call.path
        if not is_read or not self.world.happens(f"{name} lags", self.world.temper.lagging):
            return 0.0
        lag = LONGEST_LAG * self.world.share(f"{name} lag")
        self.world.tell(f"{call.method} {call.path} shows what was there {lag:.1f} s ago")
        return lag

    def _hide_twins(self, call: Call) -> dict[str, Any]:
        """Take away what a creation would meet, in a world whose platform takes it again (A45)."""
        there = self.box.workspace.properties
        is_taken = self.manner.takes_twins or self.world.share("twins") >= 0.5
        if call.method != "POST" or not call.reference or not is_taken:
            return {}
        found = [key for key, one in there.items() if one["objectReferenceId"] == call.reference]
        return {key: there.pop(key) for key in found}
