"""Place an order: at most once, and say clearly how it ended."""

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from crm_sync.management.base import FAILED, PARTLY
from crm_sync.models import Workspace
from orders.management.base import OrderCommand
from orders.models import Placement
from orders.placing import placement

EXIT = {Placement.State.FAILED: FAILED, Placement.State.UNCERTAIN: PARTLY}


class Command(OrderCommand):
    """Exit codes: 0 placed, 1 failed (nothing ordered), 2 a wrong choice, 3 uncertain."""

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
            help="product id or value such as GROUND_PHOTO; several times for several",
        )
        for part in placement.PARTS:
            parser.add_argument(f"--{part}", help=f"id of the {part} instruction (default: first)")

    def handle(self, *_: Any, **options: Any) -> None:
        workspace = self.workspace(options["slug"])
        if options["dry_run"]:
            self._show(workspace, options)
            return
        chosen = {part: options[part] for part in placement.PARTS}
        with self.errors_as_exit_codes():
            done = placement.place(
                workspace,
                reference=options["reference"],
                user=options["user"],
                products=options["products"],
                now=timezone.now(),
                **chosen,
            )
        self._report(done, as_json=options["json"])

    def _report(self, done: Placement, *, as_json: bool) -> None:
        document = {
            "placement": done.pk,
            "state": done.state,
            "order": done.order.platform_id if done.order else None,
            "status": done.order.status if done.order else None,
            "reference": done.object_reference_id,
            "userId": done.user_platform_id,
            "products": done.products,
            "instructions": done.instructions,
            "problem": done.problem,
        }
        failed = done.state in EXIT
        names = ", ".join(str(item.get("product") or item["id"]) for item in done.products)
        lines = [f"{done.order} placed for {done.object_reference_id}: {names}"]
        self.emit(document, [] if failed else lines, as_json=as_json)
        if failed:
            self.fail(f"{done.state}: {done.problem}", EXIT[Placement.State(done.state)])

    def _show(self, workspace: Workspace, options: dict[str, Any]) -> None:
        now = timezone.now()
        chosen = {part: options[part] for part in placement.PARTS}
        with self.errors_as_exit_codes():
            shown = placement.draft(
                workspace, reference=options["reference"], user=options["user"], now=now
            )
            placement.add_products(shown, options["products"])
            placement.add_instructions(shown, chosen, now=now)
        bodies = {
            "POST /v1/sessions": placement.session_body(shown),
            "POST /v1/orders": placement.order_body(shown),
        }
        self.emit_bodies(bodies, as_json=options["json"])
