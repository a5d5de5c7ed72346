"""A neighbour: another workspace of the installation, whose people and platform are their own."""

from math import inf
from typing import Any

from lab.scale.judge import orders
from lab.world.events import Events
from lab.world.judge import OURS_ALONE, Edit, Judge, may_be_last
from lab.world.network import Delivery, refusing
from lab.world.order_judge import OrderJudge
from lab.world.placing import place
from lab.world.process import Answer, Environ, answer_of
from lab.world.scheduler import Scheduler, Thread
from lab.world.wires import Wires
from sandbox.app import Sandbox

HOST = "neighbour.test"
WORKSPACE = 2  # the key of its row
ADDRESS = f"http://{HOST}"
REFERENCES = ("N-1", "N-2", "N-3")
QUICK = 0.02  # seconds of an answer


class Neighbour:
    """A program of theirs edits and orders; their platform may be slow, or never answer.

    Its orders have the ids of orders of the other platform.

    Attributes:
        seconds: of each answer of their platform; infinite while it hangs.
    """

    def __init__(self, world: Scheduler, judge: Judge, wires: Wires, box: Sandbox) -> None:
        self.world, self.judge, self.wires, self.box = world, judge, wires, box
        self.seconds = world.choose("the neighbour's answers take", (QUICK, 1.0, inf))
        self.orders = OrderJudge(judge.record, box, WORKSPACE)
        self.events = Events(world, wires, judge, box, self.orders, "the neighbour's platform")
        self._edits: dict[str, list[Edit]] = {}
        self._count = self._placed = 0

    def edit(self, reference: str) -> None:
        """Their program writes a property, again and again until it is there."""
        self._count += 1
        edit = Edit(f"neighbour {self._count}", self.world.steps)
        self._edits.setdefault(reference, []).append(edit)

        def answered(status: int | None, body: bytes) -> None:
            self.world.tell(f"the neighbour writes {reference}: {status or 'no answer'}")
            if status not in (None, 200, 201, 503):
                said = f"a neighbour's edit was answered with {status}: {body[:300]!r}"
                self.judge.record.wrong.append(said)
            elif status is not None:
                edit.answered, edit.is_stored = self.world.steps, status in (200, 201)
            if not any(one.is_stored for one in self._edits[reference]):  # it is not there yet
                self.world.at(self.world.now + 3, lambda: self.edit(reference))

        path, body = f"/properties/{reference}", {OURS_ALONE: edit.value}
        self.wires.ask("PUT", path, body, answered, program="neighbour")

    def order(self, name: str) -> None:
        """Their program orders for a property, with a key that the other one may use too."""
        reference = self.world.choose(f"{name} where", REFERENCES)
        self.edit(reference)  # so that it is there
        key = f"order-{self._placed}"
        self._placed += 1
        place(self.wires, self.orders, name, reference, key, program="neighbour")

    def unsettled(self) -> list[str]:
        """Return what their platform lacks (I1), and what is on the platform of the other one."""
        wrong = []
        for reference, edits in self._edits.items():
            there = (self.box.workspace.properties.by_reference(reference) or {}).get(OURS_ALONE)
            known = may_be_last(edits)
            if there not in known and (there or any(one.is_stored for one in edits)):
                wrong.append(f"the neighbour's {reference} is {there!r}, its last one {known} (I1)")
        state = self.box.workspace.to_json()
        differing = orders(self.judge.record.url, WORKSPACE, state)
        wrong += [f"the neighbour's {one}" for one in differing]
        return [*wrong, *self._strangers()]

    def in_the_end(self) -> None:
        """Judge their orders once nothing befalls anybody any more."""
        self.orders.are_there_once()

    def _strangers(self) -> list[str]:
        """S12: what is of one workspace is never on the platform of the other one."""
        theirs = {_reference(one) for one in self.box.workspace.properties.values()}
        ours = {_reference(one) for one in self.judge.record.box.workspace.properties.values()}
        strange = sorted((theirs & self.judge.made) | (ours & set(REFERENCES)))
        return [f"{one} is on the platform of another workspace (S12)" for one in strange]

    def receive(self, name: str, thread: Thread, environ: Environ, content: bytes) -> Delivery:
        """See `Host`."""

        def serve() -> Answer:
            if environ["PATH_INFO"] == "/v1/orders":
                self._take_id()
            return answer_of(self.box, environ, content)

        refuse = refusing(self.world, ("503 No",))
        what = f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']} for the neighbour"
        return Delivery(what, self.seconds, serve, refuse, after=self.events.send)

    def _take_id(self) -> None:
        """Let the next order have the id of one of the other platform."""
        ours, theirs = (one.workspace.orders for one in (self.judge.record.box, self.box))
        if free := sorted(ours.keys() - theirs.keys(), key=int):
            self.box.workspace.last_id = int(free[0]) - 1


def _reference(document: dict[str, Any]) -> str:
    return str(document.get("objectReferenceId"))
