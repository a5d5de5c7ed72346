"""The judge: holds what happened against the promises, by the sandbox and a record of its own.

It reads tables, and calls no method of our models. What no client can keep is no fault here (L1,
L2 of docs/invariants.md): an edit of the platform between the read of a push and the effect of its
PATCH.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from lab.scale.judge import orders, properties as differing_properties
from lab.soak.judge import not_understood, standing
from lab.world import runtime
from lab.world.call_judge import Call, CallJudge
from lab.world.chat_judge import ChatJudge
from lab.world.feed_judge import FeedJudge
from lab.world.file_judge import FileJudge
from lab.world.mail_judge import MailJudge
from lab.world.message_judge import MessageJudge
from lab.world.order_judge import OrderJudge
from lab.world.record import Record
from sandbox.state import callbacks

Document = dict[str, Any]
# The fields that people change: ours alone, theirs alone, both; a list, which we also empty; and
# what an imported file brings, what the feed of a source brings, and what is delivered in turn.
OURS_ALONE, THEIRS_ALONE, BOTH = "title", "floor", "buildingZones"
LIST, IMPORTED = "virtualTourLinks", "yearBuilt"
FED, DELIVERED = "yearLastRenovated", "numberOfParcels"
# Who owns a field, by a rule of the workspace.
RULES = {
    "displayReferenceId": "NEVER",
    "projectReferenceId": "THEIRS",
    "houseReferenceId": "OURS",
    "author": "FILL",
}
NEVER, RULED_OURS = "displayReferenceId", "houseReferenceId"
RULED_THEIRS, FILLED = "projectReferenceId", "author"
NOT_SENT = (THEIRS_ALONE, *(path for path, owner in RULES.items() if owner in ("NEVER", "THEIRS")))

# Tables in which nothing is due in the end; a row of others is always due at some time.
DUE = (
    *("properties_property", "orders_placement", "orders_materialfile", "orders_targetfile"),
    "crm_sync_receivedevent",
)


@dataclass
class Word:
    """Who said last what a field of the platform holds, at which step and at which moment."""

    value: Any
    is_ours: bool
    made: int
    made_at: float


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


def may_be_last(edits: Sequence[Edit]) -> list[Any]:
    """Return the values that may be the last: of edits under way at one time that is each."""
    return [
        edit.value
        for edit in edits
        if edit.is_stored is not False
        and not any(
            edit.answered and later.began > edit.answered for later in edits if later.is_stored
        )
    ]


class Judge:
    """What was done, and what is wrong with it."""

    def __init__(self, record: Record, limit: int) -> None:
        self.record = record
        self.calls = CallJudge(record, limit)
        self.orders, self.messages = OrderJudge(record, record.box, 1), MessageJudge(record)
        self.files, self.mails = FileJudge(record), MailJudge(record)
        self.feeds, self.chat = FeedJudge(record), ChatJudge(record)
        self.open_ends: list[str] = []
        self.figures: dict[str, float] = {}
        self.made: set[str] = set()
        self.words: dict[tuple[str, str], Word] = {}
        self.ours: dict[tuple[str, str], list[Edit]] = {}
        self.excluded_at: int | None = None  # the step at which no callback may come any more
        self.slowest_answer = 0.0  # of all callbacks, in seconds
        self.fed: dict[tuple[str, str], int] = {}  # by reference and field, what feeds brought last

    # --- what people do ---
    def we_begin(self, reference: str, path: str, value: Any) -> None:
        edit = Edit(value, self.record.world.steps)
        self.ours.setdefault((reference, path), []).append(edit)

    def we_edited(self, reference: str, path: str, value: Any, status: int | None) -> None:
        """Take note of an answer; without one the edit may have been stored or not."""
        for edit in self.ours[reference, path]:
            if edit.value == value and status is not None:
                edit.answered, edit.is_stored = self.record.world.steps, status in (200, 201)
        if status in (200, 201):
            self.made.add(reference)

    def replaced(self, reference: str, path: str, value: Any) -> Any:
        """Return what an edit of ours has replaced, by the history; None if that was nothing."""
        row = "(select id from properties_property where object_reference_id = ?)"
        ((old,),) = self.record.ask(
            "select old from properties_change where path = ? and new = ?"
            f" and real_estate_property_id = {row}",
            (path, json.dumps(value), reference),
        )
        return json.loads(old) if old else None

    def a_feed_brings(self, path: str, value: int) -> list[str]:
        """Take note of a feed with a value of all properties that are there; their references."""
        references = sorted(self.made)
        for reference in references:
            self.we_begin(reference, path, value)
            self.fed[reference, path] = value
        return references

    def they_edited(self, reference: str, path: str, value: Any) -> None:
        self._say(reference, path, value, is_ours=False)

    def _say(self, reference: str, path: str, value: Any, *, is_ours: bool) -> None:
        world = self.record.world
        self.words[reference, path] = Word(value, is_ours, made=world.steps, made_at=world.now)

    def answered_after(self, seconds: float) -> None:
        """Take note how long the answer to a callback took (I25)."""
        self.slowest_answer = max(self.slowest_answer, seconds)

    def acknowledged(self, event: Document, began: int, workspace: int) -> None:
        """An event that was answered with 2xx is stored (I15), and was allowed to come (S6)."""
        if workspace == 1 and self.excluded_at is not None and began > self.excluded_at:
            self.record.wrong.append(
                "a callback was taken from an address that is not allowed (S6)"
            )
        if not self._is_stored(event, workspace):
            self.record.wrong.append(
                f"the event {event['event']} was acknowledged and is not stored (I15)"
            )

    def _is_stored(self, event: Document, workspace: int) -> bool:
        """Return whether a received event has this content, as it was sent or as a poll had it."""
        mine = "from crm_sync_receivedevent where workspace_id = ?"
        sent = callbacks.encode(event)
        if self.record.ask(f"select 1 {mine} and body = ?", (workspace, sent)):
            return True
        bodies = self.record.ask(f"select body {mine} and body <> x''", (workspace,))
        return any(json.loads(bytes(body)) == event for (body,) in bodies)

    # --- what passes over the wire ---

    def served(self, call: Call, before: Document, status: int, lag: float = 0) -> None:
        """Judge the effect that a call had on the platform; a read may `lag` so many seconds."""
        if call.method == "GET":
            if call.reference:
                call.thread.reads[call.reference] = self._shown(call.reference, lag)
            return
        if "/real-estate-properties" not in call.path or status >= 300:
            return
        after = self.record.there(call.reference)
        found = [
            one
            for one in self.record.box.workspace.properties.values()
            if one.get("objectReferenceId") == call.reference
        ]
        if len(found) > 1:
            self.record.wrong.append(f"{call.reference} was created twice (I8)")
        for path, value in call.body.items():
            if path in NOT_SENT:
                self.record.wrong.append(
                    f"{path} was sent, which nobody of ours may change there (I2)"
                )
            key = (call.reference, path)
            if key not in self.ours or before.get(path) == after.get(path):
                continue
            known = [edit.value for edit in self.ours[key]]
            word = self.words.get(key)
            if value not in known and not (word and value == word.value):
                theirs = f"{call.reference}.{path}: {value!r} was sent, which nobody of ours wrote"
                if str(value).startswith("ours"):
                    self.record.wrong.append(theirs)
            if word and not word.is_ours and word.value == before.get(path):
                self._may_overwrite(call, path, word)
                if RULES.get(path) == "FILL" and word.made < (call.read or call.left):
                    self.record.wrong.append(f"{path} was filled although the platform has a value")
            self._say(*key, value, is_ours=True)

    def _shown(self, reference: str, lag: float) -> int:
        """Return the step of the newest that a read may show."""
        world = self.record.world
        words = [word for (one, _), word in self.words.items() if one == reference]
        unseen = [word.made for word in words if lag and word.made_at > world.now - lag]
        return min(unseen) - 1 if unseen else world.steps

    def _may_overwrite(self, call: Call, path: str, word: Word) -> None:
        """I4: no value of the platform's people is gone without a trace here."""
        if word.made > (call.read or call.left):  # L1: it came after the read
            return
        row = "(select id from properties_property where object_reference_id = ?)"
        text = json.dumps(word.value)
        traces = self.record.ask(
            f"select 1 from properties_conflict where real_estate_property_id = {row}"
            " and path = ? and theirs = ? union all"
            f" select 1 from properties_change where real_estate_property_id = {row}"
            " and path = ? and (new = ? or old = ?)",
            (call.reference, path, text, call.reference, path, text, text),
        )
        if not traces:
            self.record.wrong.append(
                f"{call.reference}.{path}: {word.value!r} of the platform was overwritten by"
                f" {call.body[path]!r}, and nothing here tells of it (I4)"
            )

    # --- the end ---
    def refused(self) -> list[tuple[str, str]]:
        """Return reference and field of what the platform has refused."""
        rows = self.record.ask("select object_reference_id, problem from properties_property")
        problems = [(reference, json.loads(problem)) for reference, problem in rows]
        return [(one, path) for one, problem in problems for path in problem.get("REFUSED", ())]

    def are_due(self) -> bool:
        """Return whether a property is due."""
        query = "select count(*) from properties_property where due_at is not null"
        return self.record.ask(query) != [(0,)]

    def at_rest(self) -> None:
        """I3: the platform holds no value of ours that we do not want, in a row that is done."""
        query = "select object_reference_id, desired, problem from properties_property"
        for reference, desired, problem in self.record.ask(f"{query} where due_at is null"):
            there, ours = self.record.there(reference), json.loads(desired)
            for path in (OURS_ALONE, BOTH, LIST, IMPORTED, FED, DELIVERED):
                word = self.words.get((reference, path))
                is_ours = word is not None and word.is_ours and word.value == there.get(path)
                is_told = any(path in paths for paths in json.loads(problem).values())
                is_same = (there.get(path) or None) == (ours.get(path) or None)
                if is_ours and not is_same and not is_told:
                    self.record.wrong.append(
                        f"{reference}.{path}: the platform holds our {there.get(path)!r}, we want"
                        f" {ours.get(path)!r}, and the row is done (I3)"
                    )

    def unsettled(self) -> list[str]:
        """What is still to be done, or differs."""
        at = runtime.EPOCH + timedelta(seconds=self.record.world.now)
        wrong = []
        for table in DUE:
            ((due,),) = self.record.ask(f"select count(*) from {table} where due_at is not null")
            wrong += [f"{due} rows of {table} are due"] if due else []
        wrong += [
            f"a feed has {path} {value} of {reference}, and it is not there"
            for (reference, path), value in self.fed.items()
            if self.record.there(reference).get(path) != value
        ]
        wrong += (
            [f"{self.messages.pending()} messages are pending"] if self.messages.pending() else []
        )
        if wrong:  # what is asked next costs most
            return wrong
        wrong += standing(self.record.url, at) + not_understood(self.record.url)
        state = self.record.box.workspace.to_json()
        wrong += self._differing(state["properties"])
        return wrong + orders(self.record.url, 1, state)

    def _differing(self, there: Document) -> list[str]:
        """What differs, but for what is never sent, and for what a person has to decide.

        That is a field of ours that the platform changes again and again, or that we have empty.
        """
        rows = self.record.ask("select object_reference_id, problem from properties_property")
        fought = {reference for reference, problem in rows if f'"{RULED_OURS}"' in problem}
        wrong = []
        for line in differing_properties(self.record.url, 1, there):
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
            self.record.wrong += [f"not settled: {one}" for one in self.open_ends[:5]]
        self.record.wrong += self.lost_edits()
        for (reference, path), word in self.words.items():
            if path in NOT_SENT and self.record.there(reference).get(path) != word.value:
                self.record.wrong.append(
                    f"{reference}.{path}: {word.value} of the platform is gone (I2)"
                )
        self.orders.are_there_once()
        self.orders.are_as_reviewed()
        self.messages.each_state_is_reported()
        self.messages.have_come()
        self.files.are_complete()
        self.files.are_uploaded()
        if self.record.ask("select 1 from crm_sync_receivedevent where body like '%forged%'"):
            self.record.wrong.append("a callback with a wrong secret is stored (S1)")
        silent = "select path from properties_conflict where decision <> '' and rule = ''"
        for (path,) in self.record.ask(f"{silent} and origin = '' and decided_by_id is null"):
            if path in RULES:
                self.record.wrong.append(
                    f"{path}: a rule decided a conflict and does not say so (I4)"
                )
        taken = self.record.ask(
            "select path, theirs from properties_conflict union all"
            " select path, new from properties_change where origin = 'PLATFORM'"
        )
        for path, theirs in taken:
            is_first = RULES.get(path) == "FILL"  # the first value there stays, if it is ours too
            if (
                path not in NOT_SENT
                and not is_first
                and str(theirs).startswith(('"ours', '[{"url": "https://ours'))
            ):
                self.record.wrong.append(f"{path}: our own {theirs} was taken for theirs (I2)")

    def lost_edits(self, paths: Sequence[str] = ()) -> list[str]:
        """I1: return the last edits of ours that are not there, of some fields or of all."""
        return [
            text
            for (reference, path), edits in self.ours.items()
            if not paths or path in paths
            if (text := self._lost(reference, path, edits))
        ]

    def _lost(self, reference: str, path: str, edits: list[Edit]) -> str:
        """Say what is there instead of our last edit; "" if it is there, or they wrote since."""
        stored, possible = [edit for edit in edits if edit.is_stored], may_be_last(edits)
        there = self.record.there(reference).get(path)
        if path == NEVER:
            row = "select desired from properties_property where object_reference_id = ?"
            ((desired,),) = self.record.ask(row, (reference,)) or (("{}",),)
            there = json.loads(desired).get(path)
        word = self.words.get((reference, path))
        theirs = word is not None and not word.is_ours and there == word.value
        if path == RULED_OURS and stored and not self.is_asked(reference, path):
            theirs = False  # ours is put back
        is_ours = (there or None) in [value or None for value in possible]
        if is_ours or theirs or (not there and not stored):
            return ""
        if RULES.get(path) == "FILL" and there in [edit.value for edit in edits]:
            told = "select 1 from properties_conflict where path = ? and theirs = ? and ours = ?"
            gone = [json.dumps(value) for value in possible]
            if any(self.record.ask(told, (path, json.dumps(there), value)) for value in gone):
                return (
                    ""  # an earlier call filled it late, and the edit is kept as an ended conflict
                )
        return f"{reference}.{path}: the platform holds {there!r}, our last is {possible} (I1)"

    def is_asked(self, reference: str, path: str) -> bool:
        """Return whether a person is asked about a field."""
        row = "select problem from properties_property where object_reference_id = ?"
        return any(
            path in json.loads(problem).get("CONFLICT", {})
            for (problem,) in self.record.ask(row, (reference,))
        )
