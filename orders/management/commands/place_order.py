"""Place an order at most once, and print its price and its outcome."""

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from crm_sync.management.base import FAILED, PARTLY, USAGE
from crm_sync.platform.work_kind import WorkKind
from crm_sync.text import in_one_line
from orders.management.order_command import OrderCommand
from orders.models import Placement
from orders.placing import wish
from orders.placing.acting_user import who_acts
from orders.placing.dispatch import place_now
from orders.placing.duplicates import already_ordered
from orders.placing.session_offer import (
    NO_PRICE,
    PARTS,
    cost_of,
    name_of,
    order_body,
    price_of,
    session_body,
    total,
)

State = Placement.State
EXIT = {
    State.READY: FAILED,
    State.FAILED: FAILED,
    State.UNCERTAIN: PARTLY,
    State.CONFIRMED: PARTLY,
    State.SENDING: PARTLY,
}


class Command(OrderCommand):
    """Places an order like the API, and runs the worker's step at once.

    Exit codes: 0 placed, 1 failed (nothing ordered), 2 wrong choice, 3 uncertain, or a worker
    places it later. After 3, never order it again yourself.
    """

    help = (
        "Place an order for a property. With --dry-run the session is opened and its products and"
        " instructions are read, the bodies are shown, and nothing is ordered."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", help="the workspace")
        parser.add_argument("--reference", required=True, help="objectReferenceId of the property")
        parser.add_argument("--user", required=True, help="platform user id or userReferenceId")
        parser.add_argument(
            "--product",
            action="append",
            required=True,
            dest="products",
            help="product id or value such as GROUND_PHOTO; may be given again",
        )
        for part in PARTS:
            parser.add_argument(
                f"--{part}", help=f"id of the {part} instruction; default: the first"
            )

    def handle(self, *_: Any, **options: Any) -> None:
        workspace, as_json = self.workspace(options["slug"]), options["json"]
        now = timezone.now()
        with self.errors_as_exit_codes():
            ready = wish.prepare(
                workspace,
                reference=options["reference"],
                user=options["user"],
                products=options["products"],
                instructions={part: options[part] for part in PARTS},
                now=now,
            )
            if not options["dry_run"]:
                workspace.refuse_held(WorkKind.ORDERS)
        warnings = [str(one) for one in already_ordered([ready])[0]]
        for warning in warnings:
            self.stderr.write(in_one_line(f"warning: {warning}"))
        if not as_json:
            self.emit({}, _prices(ready), as_json=False)
        if options["dry_run"]:
            self._show_bodies(ready, warnings, as_json=as_json)
            return
        wish.submit(ready, now=now)
        place_now(ready)
        self._report(ready, warnings, as_json=as_json)

    def _report(self, done: Placement, warnings: list[str], *, as_json: bool) -> None:
        who = who_acts(done.workspace_id, done.acting)
        document = {
            "placement": done.pk,
            "state": done.state,
            "order": done.order.platform_id if done.order else None,
            "status": done.order.status if done.order else None,
            "reference": done.object_reference_id,
            "userId": done.user_platform_id,
            "user": str(who),
            "products": done.products,
            "sum": total(done.products).document,
            "instructions": done.instructions,
            "warnings": warnings,
            "problem": done.problem,
        }
        failed = done.state in EXIT
        names = ", ".join(name_of(item) for item in done.products)
        lines = [
            f"{done.order} placed for {done.object_reference_id} in the name of {who}: {names}"
        ]
        self.emit(document, [] if failed else lines, as_json=as_json)
        if failed:
            self.fail(f"{done.state}: {done.problem}", EXIT[State(done.state)])

    def _show_bodies(self, shown: Placement, warnings: list[str], *, as_json: bool) -> None:
        if not shown.session_id:
            text = (
                f"{shown.object_reference_id} is not on the platform yet: it is sent there first,"
            )
            self.fail(f"{text} and then its products can be read", USAGE)
        bodies = {
            "POST /v1/sessions": session_body(shown),
            "POST /v1/orders": order_body(shown),
        }
        who, price = who_acts(shown.workspace_id, shown.acting), total(shown.products).document
        self.emit_bodies(bodies, who, as_json=as_json, sum=price, warnings=warnings)


def _prices(placement: Placement) -> list[str]:
    """Return a line for each product, and one for the sum."""
    lines = []
    for product in placement.products:
        each, count = price_of(product) or NO_PRICE, product["quantity"]
        times = f"{count} x {each} = {cost_of(product)}" if count > 1 else f"{each}"
        lines.append(f"{name_of(product)}: {times}")
    return [*lines, f"sum: {total(placement.products)}"]
