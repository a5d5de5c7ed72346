"""How a program of the scene places an order by our API."""

import json
from urllib.parse import quote

from lab.world.order_judge import OrderJudge
from lab.world.wires import Wires


def place(
    wires: Wires, orders: OrderJudge, name: str, reference: str, key: str, program: str = "ERP"
) -> None:
    """Order for a property, and ask again until there is an answer.

    Args:
        orders: judges the orders of the workspace of this program.
        name: of the act.
        key: by which a repetition is known (I9).
    """
    world, wrong = wires.world, orders.record.wrong
    repeated = set[str]()

    def ask() -> None:
        wires.ask(
            "POST",
            f"/properties/{quote(reference, safe='')}/placements",
            {"user": "AGENT-1", "products": ["GROUND_PHOTO"]},
            answered,
            key=key,
            program=program,
        )

    def answered(status: int | None, body: bytes) -> None:
        world.tell(f"{name}: {program} orders for {reference}: {status or 'no answer'}")
        if status in (200, 202):
            orders.placed(reference, key, json.loads(body)["id"])
            if key not in repeated and world.happens(f"{name} again", 0.3):
                repeated.add(key)  # as a program that has lost the answer
                world.at(world.now + 20 * world.share(f"{name} when"), ask)
        elif status in (None, 404, 409, 503) or b"The platform refused it" in body:
            # The property may come yet.
            world.at(world.now + 5, ask)
        else:
            wrong.append(f"an order was answered with {status}: {body[:300]!r}")

    ask()
