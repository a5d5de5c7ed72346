"""The judge: holds what happened against the promises, by the sandbox and a record of its own.

It reads tables, and calls no method of our models. What no client can keep is no fault here (L1,
L2 of docs/invariants.md): an edit of the platform between the read of a push and the effect of its
PATCH.
"""

import json
import sqlite3
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from math import inf
from pathlib import Path
from typing import Any

from lab.scale.judge import orders
from lab.scale.judge import properties as differing_properties
from lab.soak.judge import not_understood, standing
from lab.world import runtime
from lab.world.scheduler import Scheduler, Thread
from sandbox.app import Sandbox

Document = dict[str, Any]
LIMIT, LOW_LIMIT = 8, 4  # calls at a time that the workspace allows; some seeds begin with few
# The fields that people change: ours alone, theirs alone, both; a list, which we also empty; and
# what an imported file brings, and what the feed of a source brings.
OURS_ALONE, THEIRS_ALONE, BOTH = "title", "floor", "buildingZones"
LIST, IMPORTED, FED = "virtualTourLinks", "yearBuilt", "yearLastRenovated"
# Who owns a field, by a rule of the workspace.
RULES = {
    "displayReferenceId": "NEVER",
    "projectReferenceId": "THEIRS",
    "houseReferenceId": "OURS",
    "author": "FILL",
}
NEVER, RULED_OURS = "displayReferenceId", "houseReferenceId"
NOT_SENT = (THEIRS_ALONE, *(path for path, owner in RULES.items() if owner in ("NEVER", "THEIRS")))


@dataclass
class Call:
    """A call of ours on its way.

    Attributes:
        reference: of the property that it changes; "" if it changes none.
        read: the step at which the platform served the last read of this job; None without one.
        left, left_at: the step and the moment at which it left us.
    """

    thread: Thread
    method: str
    path: str
    body: Document
    reference: str
    read: int | None
    left: int
    left_at: float


@dataclass
class Word:
    """Who said last what a field of the platform holds, and at which step."""

    value: Any
    is_ours: bool
    made: int


@dataclass
class Edit:
    """One edit of ours.

    Attributes:
        answered: the step of its answer; None if none came, so that it may be stored at any time.
        is_stored: None while nobody knows.
    """

    value: Any
    began: int
    answered: int | None = None
    is_stored: bool | None = None


class Judge:
    """What was done, and what is wrong with it."""

    def __init__(self, world: Scheduler, box: Sandbox, database: Path) -> None:
        self.world, self.box, self.database = world, box, database
        self._connection: sqlite3.Connection | None = None
        self.wrong: list[str] = []
        self.open_ends: list[str] = []
        self.figures: dict[str, float] = {}
        self.made: set[str] = set()
        self.events: list[Document] = []
        self.words: dict[tuple[str, str], Word] = {}
        self.ours: dict[tuple[str, str], list[Edit]] = {}
        self.placements: dict[str, tuple[str, int]] = {}
        self.last_change = 0.0  # the moment at which the last changing call left
        self.held_at: int | None = None  # the step at which a person held pushes
        self.under_way: dict[Thread, Call] = {}
        self.limit = LIMIT
        self.unlocked_at, self._locks = 0.0, 0
        self.push_limit: int | None = None  # of the calls that change or read a property
        self.statuses: dict[str, list[str]] = {}  # by order and assignment, those that it has had
        self.places: dict[str, int] = {}  # how far in them our row has come, or an event for it
        self.processed: set[int] = set()  # received events that had their effect
        self.lies: set[str] = set()  # orders and assignments of which an event has lied
        self.excluded_at: int | None = None  # the step at which no callback may come any more
        self.slowest_answer = 0.0  # of all callbacks, in seconds
        self.fed: dict[str, int] = {}  # the last version of the feed: the value by reference
        self.messages: dict[str, str] = {}  # what the receiver has taken, by id

    @property
    def url(self) -> str:
        return f"sqlite:///{self.database}"

    # --- what people do ---
    def we_begin(self, reference: str, path: str, value: Any) -> None:
        edit = Edit(value, self.world.steps)
        self.ours.setdefault((reference, path), []).append(edit)

    def we_edited(self, reference: str, path: str, value: Any, status: int | None) -> None:
        """Take note of an answer; without one the edit may have been stored or not."""
        for edit in self.ours[reference, path]:
            if edit.value == value and status is not None:
                edit.answered, edit.is_stored = self.world.steps, status in (200, 201)
        if status in (200, 201):
            self.made.add(reference)

    def they_edited(self, reference: str, path: str, value: Any) -> None:
        self.words[reference, path] = Word(value, is_ours=False, made=self.world.steps)

    def placed(self, reference: str, key: str, number: int) -> None:
        before = self.placements.setdefault(key, (reference, number))
        if before[1] != number:
            self.wrong.append(f"{key} made the placements {before[1]} and {number} (I9)")

    def answered_after(self, seconds: float) -> None:
        """Take note how long the answer to a callback took (I25)."""
        self.slowest_answer = max(self.slowest_answer, seconds)

    def acknowledged(self, event: Document, began: int) -> None:
        """An event that was answered with 2xx is stored (I15), and was allowed to come (S6)."""
        if self.excluded_at is not None and began > self.excluded_at:
            self.wrong.append("a callback was taken from an address that is not allowed (S6)")
        body = json.dumps(event, sort_keys=True)
        rows = self.ask("select body from crm_sync_receivedevent order by id desc limit 50")
        if all(json.dumps(json.loads(bytes(row[0])), sort_keys=True) != body for row in rows):
            self.wrong.append(
                f"the event {event['event']} was acknowledged and is not stored (I15)"
            )

    # --- what passes over the wire ---
    def leaves(self, thread: Thread, environ: Document, content: bytes) -> Call:
        """Take note of a call that leaves."""
        try:
            body = json.loads(content or b"{}")
        except ValueError:
            body = {}
        path = environ["PATH_INFO"].encode("latin-1").decode()
        name = path.rpartition("/")[2]
        is_property = "/real-estate-properties" in path
        reference = name if "/by-reference/" in path else ""
        if is_property and not reference:
            there = self.box.workspace.properties.get(name)
            reference = (there or body).get("objectReferenceId", "")
        read = thread.reads.get(reference)
        method = environ["REQUEST_METHOD"]
        call = Call(thread, method, path, body, reference, read, self.world.steps, self.world.now)
        if method != "GET":
            self.last_change = self.world.now
        if method != "GET" and reference and thread.process.kind == "worker":
            self._alone(call)
        self.under_way[thread] = call
        if thread.process.kind == "worker":
            self._calls_at_once()
            self._may_leave(call)
        return call

    def locked(self, is_locked: bool) -> None:
        """Take note that somebody else holds the lock of the database, or lets it go."""
        self._locks += 1 if is_locked else -1
        self.unlocked_at = inf if self._locks else self.world.now

    def _is_under_way(self, call: Call) -> bool:
        """Return whether a live worker waits for its answer, and could renew what it holds since.

        It cannot while it stands still, or while somebody else holds the lock of the database, as
        any process may that stands still within a transaction.
        """
        process = call.thread.process
        is_free = max(self.unlocked_at, self.world.frozen_until) < call.left_at
        is_live = process.is_alive and is_free
        return is_live and process.kind == "worker" and call.thread.state == "call"

    def _alone(self, call: Call) -> None:
        """I6: at most one call that changes a property runs at a time."""
        others = (one for one in self.under_way.values() if one.method != "GET")
        if any(one.reference == call.reference and self._is_under_way(one) for one in others):
            self.wrong.append(f"two calls change {call.reference} at one time (I6)")

    def _calls_at_once(self) -> None:
        """A8: the platform gets as many calls at a time as the workspace allows, and no more."""
        alive = [call for call in self.under_way.values() if self._is_under_way(call)]
        if len(alive) > self.limit:
            self.wrong.append(f"{len(alive)} calls at a time (A8)")
        pushes = sum(bool(call.reference) for call in alive)
        if self.push_limit is not None and pushes > self.push_limit:
            self.wrong.append(f"{pushes} pushes at a time, where {self.push_limit} may be (A8)")

    def hears(self, thread: Thread) -> None:
        self.under_way.pop(thread, None)

    def served(self, call: Call, before: Document, status: int) -> None:
        """Judge the effect that a call had on the platform."""
        if call.method == "GET":
            if call.reference:
                call.thread.reads[call.reference] = self.world.steps
            return
        if "/real-estate-properties" not in call.path or status >= 300:
            return
        after = self.there(call.reference)
        found = [
            one
            for one in self.box.workspace.properties.values()
            if one.get("objectReferenceId") == call.reference
        ]
        if len(found) > 1:
            self.wrong.append(f"{call.reference} was created twice (I8)")
        for path, value in call.body.items():
            if path in NOT_SENT:
                self.wrong.append(f"{path} was sent, which nobody of ours may change there (I2)")
            key = (call.reference, path)
            if key not in self.ours or before.get(path) == after.get(path):
                continue
            known = [edit.value for edit in self.ours[key]]
            word = self.words.get(key)
            if value not in known and not (word and value == word.value):
                theirs = f"{call.reference}.{path}: {value!r} was sent, which nobody of ours wrote"
                if str(value).startswith("ours"):
                    self.wrong.append(theirs)
            if word and not word.is_ours and word.value == before.get(path):
                self._may_overwrite(call, path, word)
                if RULES.get(path) == "FILL" and word.made < (call.read or call.left):
                    self.wrong.append(f"{path} was filled although the platform has a value")
            self.words[key] = Word(value, is_ours=True, made=self.world.steps)

    def _may_overwrite(self, call: Call, path: str, word: Word) -> None:
        """I4: no value of the platform's people is gone without a trace here."""
        if word.made > (call.read or call.left):  # L1: it came after the read
            return
        row = "(select id from properties_property where object_reference_id = ?)"
        text = json.dumps(word.value)
        traces = self.ask(
            f"select 1 from properties_conflict where real_estate_property_id = {row}"
            " and path = ? and theirs = ? union all"
            f" select 1 from properties_change where real_estate_property_id = {row}"
            " and path = ? and (new = ? or old = ?)",
            (call.reference, path, text, call.reference, path, text, text),
        )
        if not traces:
            self.wrong.append(
                f"{call.reference}.{path}: {word.value!r} of the platform was overwritten by"
                f" {call.body[path]!r}, and nothing here tells of it (I4)"
            )

    def there(self, reference: str) -> Document:
        """Return what the platform has of a property; {} if it has none."""
        return dict(self.box.workspace.properties.by_reference(reference) or {})

    def holds(self, is_held: bool) -> None:
        """Take note that a person holds pushes, or is about to let them go on."""
        self.held_at = self.world.steps if is_held else None

    def _may_leave(self, call: Call) -> None:
        """I34: no call that changes a property leaves after a hold, unless it had asked before."""
        if self.held_at is None or call.method == "GET" or "/real-estate-pr" not in call.path:
            return
        if call.thread.asked_hold > self.held_at:
            self.wrong.append(f"{call.method} {call.path} left after a hold (I34)")

    # --- our messages ---
    def received(self, key: str, body: str) -> None:
        """Take note of a message that the receiver took; one id has one body."""
        if self.messages.setdefault(key, body) != body:
            self.wrong.append(f"the message {key} came with another body")

    def pending(self) -> int:
        """Return how many messages are still to be sent."""
        query = "select count(*) from crm_sync_outgoingmessage where state = 'PENDING'"
        ((count,),) = self.ask(query)
        return int(count)

    def _messages_arrived(self) -> None:
        """Each reported change has one message, and each message came, as it was written.

        What was *delivered* was taken, and what was taken is *delivered*.
        """
        rows = self.ask("select message_id, payload, state from crm_sync_outgoingmessage")
        known = {key: payload for key, payload, _ in rows}
        for key, payload, state in rows:
            if state != "DELIVERED":
                self.wrong.append(f"the message {key} is {state} in the end")
            elif self.messages.get(key) != payload:
                self.wrong.append(f"the message {key} is delivered, and never came")
        self.wrong += [f"nobody wrote the message {key}" for key in self.messages.keys() - known]
        changes = self.ask("select kind, data from crm_sync_reportedchange")
        reported = Counter(_told(kind, json.loads(data)) for kind, data in changes)
        messages = [json.loads(payload) for payload in known.values()]
        written = Counter(_told(one["type"], one["data"]) for one in messages)
        self.wrong += [f"no message of {one}" for one in reported - written]
        self.wrong += [f"a message of {one}, which was not reported" for one in written - reported]

    # --- orders ---
    def moved(self) -> None:
        """Take note of the statuses of orders and assignments on the platform."""
        there = self.box.workspace
        for key, one in (*there.orders.items(), *there.assignments.items()):
            statuses = self.statuses.setdefault(key, [])
            if one["status"] not in statuses[-1:]:
                statuses.append(one["status"])

    def looks_at_statuses(self) -> None:
        """I22, I23: a row has the newest status of all processed events, or a later one.

        Reads and events may come late and in any order. A lie may be told until a read comes, but
        nothing confirms it (S10).
        """
        processed = self.ask(
            "select id, body from crm_sync_receivedevent where due_at is null and body <> x''"
        )
        for number, body in processed:
            if number not in self.processed:
                self.processed.add(number)
                event = json.loads(bytes(body))
                key = str(event.get("assignmentId") or event.get("orderId"))
                self._is_at_least(key, event.get("newStatus"))
        rows = self.ask(
            "select platform_id, status, is_confirmed from orders_order union all"
            " select platform_id, status, is_confirmed from orders_assignment"
        )
        for key, status, is_confirmed in rows:
            before, place = self.places.get(key, 0), self._place(key, status)
            if place is None and is_confirmed and key in self.statuses:
                self._once(f"{key} is {status}, which only a lie said, and confirmed (S10)")
            elif place is not None and place < before and key not in self.lies:
                newest = self.statuses[key][before]
                self._once(f"{key} is {status} after it was {newest} (I22, I23)")
            self._is_at_least(key, status)

    def _once(self, text: str) -> None:
        """Say what is wrong, but not after each commit again."""
        if text not in self.wrong:
            self.wrong.append(text)

    def _is_at_least(self, key: str, status: str | None) -> None:
        """Take note that our row of an order or assignment has seen this status."""
        if (place := self._place(key, status)) is not None:
            self.places[key] = max(place, self.places.get(key, 0))

    def _place(self, key: str, status: str | None) -> int | None:
        """Return how far a status is in what the platform had; None if it never had it."""
        statuses = self.statuses.get(key, [])
        if status not in statuses:
            return None
        return len(statuses) - 1 - statuses[::-1].index(status)

    # --- the end ---
    def refused(self) -> list[tuple[str, str]]:
        """Return reference and field of what the platform has refused."""
        rows = self.ask("select object_reference_id, problem from properties_property")
        problems = [(reference, json.loads(problem)) for reference, problem in rows]
        return [(one, path) for one, problem in problems for path in problem.get("REFUSED", ())]

    def is_at_rest(self, late: float) -> bool:
        """Return whether no property is due, and no call of before can have an effect any more."""
        if self.world.now - self.last_change < late:
            return False
        query = "select count(*) from properties_property where due_at is not null"
        return self.ask(query) == [(0,)]

    def at_rest(self) -> None:
        """I3: the platform holds no value of ours that we do not want, in a row that is done."""
        query = "select object_reference_id, desired, problem from properties_property"
        for reference, desired, problem in self.ask(f"{query} where due_at is null"):
            there, ours = self.there(reference), json.loads(desired)
            for path in (OURS_ALONE, BOTH, LIST, IMPORTED, FED):
                word = self.words.get((reference, path))
                is_ours = word is not None and word.is_ours and word.value == there.get(path)
                is_told = any(path in paths for paths in json.loads(problem).values())
                is_same = (there.get(path) or None) == (ours.get(path) or None)
                if is_ours and not is_same and not is_told:
                    self.wrong.append(
                        f"{reference}.{path}: the platform holds our {there.get(path)!r}, we want"
                        f" {ours.get(path)!r}, and the row is done (I3)"
                    )

    def uncertain(self, late: float) -> list[tuple[int, str]]:
        """Return number and reference of placements whose order can come no more."""
        at = (runtime.EPOCH + timedelta(seconds=self.world.now - late)).isoformat(" ")
        return self.ask(
            "select id, object_reference_id from orders_placement where state = 'UNCERTAIN'"
            " and sent_at < ?",
            (at,),
        )

    def unknown_order(self, reference: str) -> str | None:
        """Return the id of an order of the platform for this property that nobody here knows."""
        known = {key for (key,) in self.ask("select platform_id from orders_order")}
        there = self.box.workspace
        for key, order in there.orders.items():
            one = there.properties.get(str(order.get("realEstatePropertyId", "")), {})
            if key not in known and one.get("objectReferenceId") == reference:
                return key
        return None

    def unsettled(self) -> list[str]:
        """What is still to be done, or differs."""
        at = runtime.EPOCH + timedelta(seconds=self.world.now)
        wrong = []
        for table in ("properties_property", "orders_placement", "crm_sync_receivedevent"):
            ((due,),) = self.ask(f"select count(*) from {table} where due_at is not null")
            wrong += [f"{due} rows of {table} are due"] if due else []
        wrong += [
            f"the feed has {FED} {value} of {reference}, and it is not there"
            for reference, value in self.fed.items()
            if self.there(reference).get(FED) != value
        ]
        wrong += [f"{self.pending()} messages are pending"] if self.pending() else []
        wrong += standing(self.url, at) + not_understood(self.url)
        state = self.box.workspace.to_json()
        wrong += self._differing(state["properties"])
        return wrong + orders(self.url, 1, state)

    def _differing(self, there: Document) -> list[str]:
        """What differs, but for what is never sent, and for what a person has to decide.

        That is a field of ours that the platform changes again and again, or that we have empty.
        """
        rows = self.ask("select object_reference_id, problem from properties_property")
        fought = {reference for reference, problem in rows if f'"{RULED_OURS}"' in problem}
        wrong = []
        for line in differing_properties(self.url, 1, there):
            name, _, rest = line.partition(": ")
            reference = name.removesuffix(" has a problem")
            parts = [part for part in rest.split("; ") if not part.startswith(f"{NEVER}:")]
            if reference not in fought and any(parts):
                wrong.append(f"{name}: {'; '.join(parts)}")
            elif not rest:
                wrong.append(line)
        return wrong

    def in_the_end(self, *, settled: bool) -> None:
        """Judge what is there once nothing befalls anybody any more."""
        if not settled:
            self.wrong += [f"not settled: {one}" for one in self.open_ends[:5]]
        for (reference, path), edits in self.ours.items():
            self._no_edit_is_lost(reference, path, edits)
        for (reference, path), word in self.words.items():
            if path in NOT_SENT and self.there(reference).get(path) != word.value:
                self.wrong.append(f"{reference}.{path}: {word.value} of the platform is gone (I2)")
        self.orders_are_there_once()
        self._each_state_is_reported()
        self._messages_arrived()
        if self.ask("select 1 from crm_sync_receivedevent where body like '%forged%'"):
            self.wrong.append("a callback with a wrong secret is stored (S1)")
        silent = "select path from properties_conflict where decision <> '' and rule = ''"
        for (path,) in self.ask(f"{silent} and origin = '' and decided_by_id is null"):
            if path in RULES:
                self.wrong.append(f"{path}: a rule decided a conflict and does not say so (I4)")
        for path, theirs in self.ask("select path, theirs from properties_conflict"):
            is_first = RULES.get(path) == "FILL"  # the first value there stays, if it is ours too
            if (
                path not in NOT_SENT
                and not is_first
                and str(theirs).startswith(('"ours', '[{"url": "https://ours'))
            ):
                self.wrong.append(f"{path}: our own {theirs} was taken for theirs (I2)")

    def _no_edit_is_lost(self, reference: str, path: str, edits: list[Edit]) -> None:
        """I1: the platform holds our last edit, unless its people have said something since.

        Of edits that were under way at one time each may be the last.
        """
        stored = [edit for edit in edits if edit.is_stored]
        possible = [
            edit.value
            for edit in edits
            if edit.is_stored is not False
            and not any(edit.answered and later.began > edit.answered for later in stored)
        ]
        there = self.there(reference).get(path)
        if path == NEVER:
            row = "select desired from properties_property where object_reference_id = ?"
            ((desired,),) = self.ask(row, (reference,)) or (("{}",),)
            there = json.loads(desired).get(path)
        word = self.words.get((reference, path))
        theirs = word is not None and not word.is_ours and there == word.value
        is_ours = (there or None) in [value or None for value in possible]
        if is_ours or theirs or (not there and not stored):
            return
        if RULES.get(path) == "FILL" and there in [edit.value for edit in edits]:
            told = "select 1 from properties_conflict where path = ? and theirs = ? and ours = ?"
            gone = [json.dumps(value) for value in possible]
            if any(self.ask(told, (path, json.dumps(there), value)) for value in gone):
                return  # an earlier call filled it late, and the edit is kept as an ended conflict
        self.wrong.append(
            f"{reference}.{path}: the platform holds {there!r}, our last is {possible} (I1)"
        )

    def orders_are_there_once(self) -> None:
        """I9: what was placed is there once, and nothing else is."""
        states = dict(self.ask("select id, state from orders_placement"))
        placed = sum(state == "PLACED" for state in states.values())
        uncertain = sum(state == "UNCERTAIN" for state in states.values())
        there = len(self.box.workspace.orders)
        if not placed <= there <= placed + uncertain:
            self.wrong.append(f"{placed} orders were placed, {there} are there (I9)")
        for reference, number in self.placements.values():
            if number not in states:
                self.wrong.append(f"the placement {number} for {reference} is gone (I9)")
            elif states[number] not in ("PLACED", "UNCERTAIN", "FAILED", "READY"):
                self.wrong.append(f"the placement {number} is {states[number]}")

    def _each_state_is_reported(self) -> None:
        """I37: whoever follows the changes has read of the state of each property."""
        rows = self.ask(
            "select object_reference_id, told from properties_property as home where told <> ''"
            " and not exists (select 1 from crm_sync_reportedchange where"
            " data ->> 'reference' = home.object_reference_id"
            " and data ->> 'state' || ' ' || (data ->> 'revision') = home.told)"
        )
        self.wrong += [f"{name}: no change tells of {told} (I37)" for name, told in rows]

    def ask(self, query: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """Read the database past Django, by one connection, since it is read after each commit."""
        if self._connection is None:
            uri = f"file:{self.database}?mode=ro"
            self._connection = sqlite3.connect(uri, uri=True, timeout=5)
        return self._connection.execute(query, values).fetchall()


def _told(kind: str, data: Document) -> str:
    """Return what a message or a change tells, without its workspace."""
    return (
        f"{kind} {json.dumps({k: v for k, v in data.items() if k != 'workspace'}, sort_keys=True)}"
    )
