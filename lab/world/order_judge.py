"""Judges the orders of the scene: each is there once, and its status never goes back."""

import json
from datetime import timedelta

from lab.world import runtime
from lab.world.record import Record
from sandbox.app import Sandbox


class OrderJudge:
    """What became of the orders and assignments of one workspace.

    Args:
        box: its platform.
        workspace: its key.

    Attributes:
        lies: orders and assignments of which an event has lied.
    """

    def __init__(self, record: Record, box: Sandbox, workspace: int) -> None:
        self.record, self.box, self.workspace = record, box, workspace
        self.lies: set[str] = set()
        self._reviewed: dict[int, list[str | None]] = {}  # by placement, what its reviews showed
        self._placements: dict[str, tuple[str, int]] = {}
        self._statuses: dict[str, list[str]] = {}  # by order and assignment, those it has had
        self._places: dict[str, int] = {}  # how far in them our row has come, or an event for it
        self._processed: set[int] = set()  # received events that had their effect

    def placed(self, reference: str, key: str, number: int) -> None:
        before = self._placements.setdefault(key, (reference, number))
        if before[1] != number:
            self.record.wrong.append(f"{key} made the placements {before[1]} and {number} (I9)")

    def products(self, number: int, revision: int) -> str | None:
        """Return the products of a placement at a revision; None once it has another one."""
        row = "select products from orders_placement where id = ? and revision = ?"
        found = self.record.ask(row, (number, revision))
        return str(found[0][0]) if found else None

    def confirms(self, number: int, products: str | None) -> None:
        """Take note of the products that a person has seen, and orders; None if unknown."""
        self._reviewed.setdefault(number, []).append(products)

    def moved(self) -> None:
        """Take note of the statuses of orders and assignments on the platform."""
        there = self.box.workspace
        for key, one in (*there.orders.items(), *there.assignments.items()):
            statuses = self._statuses.setdefault(key, [])
            if one["status"] not in statuses[-1:]:
                statuses.append(one["status"])

    def looks_at_statuses(self) -> None:
        """I22, I23: a row has the newest status of all processed events, or a later one.

        Reads and events may come late and in any order. A lie may be told until a read comes, but
        nothing confirms it (S10).
        """
        processed = self.record.ask(
            "select id, body from crm_sync_receivedevent"
            " where workspace_id = ? and due_at is null and body <> x''",
            (self.workspace,),
        )
        for number, body in processed:
            if number not in self._processed:
                self._processed.add(number)
                event = json.loads(bytes(body))
                key = str(event.get("assignmentId") or event.get("orderId"))
                self._is_at_least(key, event.get("newStatus"))
        rows = self.record.ask(
            "select platform_id, status, is_confirmed from orders_order where workspace_id = ?"
            " union all select platform_id, status, is_confirmed from orders_assignment"
            " where workspace_id = ?",
            (self.workspace, self.workspace),
        )
        for key, status, is_confirmed in rows:
            before, place = self._places.get(key, 0), self._place(key, status)
            if place is None and is_confirmed and key in self._statuses:
                self._once(f"{key} is {status}, which only a lie said, and confirmed (S10)")
            elif place is not None and place < before and key not in self.lies:
                newest = self._statuses[key][before]
                self._once(f"{key} is {status} after it was {newest} (I22, I23)")
            self._is_at_least(key, status)

    def _once(self, text: str) -> None:
        """Say what is wrong, but not after each commit again."""
        if text not in self.record.wrong:
            self.record.wrong.append(text)

    def _is_at_least(self, key: str, status: str | None) -> None:
        """Take note that our row of an order or assignment has seen this status."""
        if (place := self._place(key, status)) is not None:
            self._places[key] = max(place, self._places.get(key, 0))

    def _place(self, key: str, status: str | None) -> int | None:
        """Return how far a status is in what the platform had; None if it never had it."""
        statuses = self._statuses.get(key, [])
        if status not in statuses:
            return None
        return len(statuses) - 1 - statuses[::-1].index(status)

    def uncertain(self, late: float) -> list[tuple[int, str]]:
        """Return number and reference of placements whose order can come no more."""
        at = (runtime.EPOCH + timedelta(seconds=self.record.world.now - late)).isoformat(" ")
        return self.record.ask(
            "select id, object_reference_id from orders_placement where workspace_id = ?"
            " and state = 'UNCERTAIN' and sent_at < ?",
            (self.workspace, at),
        )

    def unknown_order(self, reference: str) -> str | None:
        """Return the id of an order of the platform for this property that nobody here knows."""
        query = "select platform_id from orders_order where workspace_id = ?"
        known = {key for (key,) in self.record.ask(query, (self.workspace,))}
        there = self.box.workspace
        for key, order in there.orders.items():
            one = there.properties.get(str(order.get("realEstatePropertyId", "")), {})
            if key not in known and one.get("objectReferenceId") == reference:
                return key
        return None

    def are_as_reviewed(self) -> None:
        """I9: what a person has placed is what its review showed."""
        rows = (
            "select id, products from orders_placement where workspace_id = ?"
            " and state in ('PLACED', 'UNCERTAIN')"
        )
        for number, products in self.record.ask(rows, (self.workspace,)):
            seen = self._reviewed.get(number, [None])
            if products not in seen and None not in seen:
                said = f"the placement {number} has {products}, its review had {seen} (I9)"
                self.record.wrong.append(said)

    def are_there_once(self) -> None:
        """I9: what was placed is there once, and nothing else is."""
        query = "select id, state from orders_placement where workspace_id = ?"
        states = dict(self.record.ask(query, (self.workspace,)))
        placed = sum(state == "PLACED" for state in states.values())
        uncertain = sum(state == "UNCERTAIN" for state in states.values())
        there = len(self.box.workspace.orders)
        if not placed <= there <= placed + uncertain:
            self.record.wrong.append(f"{placed} orders were placed, {there} are there (I9)")
        for reference, number in self._placements.values():
            if number not in states:
                self.record.wrong.append(f"the placement {number} for {reference} is gone (I9)")
            elif states[number] not in ("PLACED", "UNCERTAIN", "FAILED", "READY"):
                self.record.wrong.append(f"the placement {number} is {states[number]}")
