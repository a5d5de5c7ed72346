"""What happens to the orders of one platform of the scene, and the events that it sends of it."""

import uuid
from functools import partial
from typing import Any

from lab.world.judge import Judge
from lab.world.order_judge import OrderJudge
from lab.world.scheduler import Scheduler
from lab.world.wires import Wires
from sandbox.app import Sandbox
from sandbox.state import callbacks
from sandbox.wire import timestamp


class Events:
    """The platform goes on with its orders, and sends each event once (§6.1).

    Args:
        orders: judges the orders of this platform.
        name: of the platform, in the story.

    Attributes:
        sent: all events.
    """

    def __init__(
        self,
        world: Scheduler,
        wires: Wires,
        judge: Judge,
        box: Sandbox,
        orders: OrderJudge,
        name: str = "the platform",
    ) -> None:
        self.world, self.wires, self.judge = world, wires, judge
        self.box, self.orders, self.name = box, orders, name
        self.sent: list[dict[str, Any]] = []

    def go_on(self, name: str, everywhere: bool = False) -> None:
        """Go on with one assignment, or with all.

        What has ended cannot move, so its status is sent again (§3.3 rule 3).
        """
        keys = [*self.box.workspace.assignments]
        if everywhere or self.world.share(f"{name} everywhere") < 0.1:
            moved = self.box.step()
            what = f"{moved} assignments"
        elif keys:
            keys = [self.world.choose(f"{name} which", keys)]
            moved = self.box.advance(keys[0])
            what = f"assignment {keys[0]}"
        else:
            return
        if moved:
            self.world.tell(f"{name}: {self.name} moves {what}")
        else:
            for key in keys:
                self.box.nudge(key)
            self.world.tell(f"{name}: {self.name} sends {len(keys)} statuses again")
        self.send()

    def send(self) -> None:
        """Send what has happened, each event after some time."""
        self.orders.moved()
        while (todo := self.box._take_pending()) is not None:
            webhook, event, _ = todo
            at = timestamp(self.box.now())
            if "timestamp" in event:
                event = event | {"timestamp": at}
            self.sent.append(event)
            record: dict[str, Any] = {
                "id": str(uuid.UUID(int=len(self.sent))),
                "triggeredAt": at,
                "payload": event,
                "headers": callbacks.event_headers(event),
            }
            name = f"event {len(self.sent)} of {self.name}"
            delay = 3 * self.world.share(f"{name} delay") ** 4
            if self.world.happens(f"{name} late", self.world.temper.event_late):
                delay = 60 * self.world.share(f"{name} seconds")
            self.world.at(self.world.now + delay, partial(self._send, webhook, event, record))

    def _send(self, webhook: Any, event: dict[str, Any], record: dict[str, Any]) -> None:
        began, began_at = self.world.steps, self.world.now
        url, headers = callbacks.authenticate(webhook)

        def answered(status: int | None, body: bytes) -> None:
            is_taken = status is not None and 200 <= status < 300
            ending = {"statusCode": status} if status else {"errorMessage": "no answer"}
            self.box._remember(record | ending | {"success": is_taken}, webhook)
            what = f"{event['event']} of {event.get('orderId', '')}"
            self.world.tell(f"{self.name} calls: {what}: {status or 'no answer'}")
            if is_taken:
                self.judge.acknowledged(event, began, self.orders.workspace)
            elif status == 401 and self._has_the_secret(webhook):
                self.judge.record.wrong.append("a callback with the right secret was refused (S6)")
            self.judge.answered_after(self.world.now - began_at)

        named = {**record["headers"], **headers}
        self.wires.request(webhook["method"], url, named, callbacks.encode(event), answered)

    def _has_the_secret(self, webhook: Any) -> bool:
        """Return whether an event left with the secret that the platform has now."""
        now = self.box.workspace.webhook
        return bool(now) and webhook["authSecret"] == now["authSecret"]
