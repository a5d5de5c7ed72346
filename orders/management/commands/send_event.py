"""manage.py send_event: send an event to ourselves as the platform would (§6)."""

import json
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from crm_sync.inbox.store import STUCK
from crm_sync.installed import command
from crm_sync.management.base import PARTLY, USAGE, SyncCommand
from crm_sync.models import ReceivedEvent, Workspace
from crm_sync.platform import events
from crm_sync.platform.errors import TransientError
from crm_sync.platform.events import NotUnderstood, parse, read_moment
from crm_sync.platform.redaction import MASK
from crm_sync.webhook import sample_events, test_event
from crm_sync.webhook.test_event import CallbackRequest
from orders.mirror import updates
from orders.models import Assignment, Order

NOBODY = f"pending: nobody has applied it yet; start a worker, or run {command('work')}"
CHECK = {
    401: "another secret is expected there: does that address lead to this installation?",
    404: "nothing of ours is there: is PUBLIC_BASE_URL right, and does the proxy pass /webhooks/?",
    413: "the body is larger than the proxy allows, or than 256 KiB",
    503: "it could not be stored: is the database there?",
}
OTHER = "is PUBLIC_BASE_URL the https address of this installation, without a redirect?"


class Command(SyncCommand):
    """Sends a real HTTP call to our own callback address, with the real authentication."""

    help = (
        "Send one event to the callback address of a workspace, as the platform would, and say what"
        " became of it. It changes the mirror of that order until the next read, which is asked for"
        f" at once. Kinds: {', '.join(sample_events.KINDS)}."
    )
    changes = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("kind", help="the kind of event")
        parser.add_argument("slug", help="the workspace")
        parser.add_argument("--order", metavar="ID", help="default: the newest that is known here")
        parser.add_argument("--assignment", metavar="ID", help="default: the first of that order")
        parser.add_argument("--status", help="the new status; default: the first move of all")
        parser.add_argument(
            "--previous", help="the status before; default: the one that is known here"
        )
        parser.add_argument("--at", metavar="ISO", help="when it happened; default: now")
        parser.add_argument(
            "--set",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="any other field by its wire name; null, numbers and quoted text as in JSON",
        )
        parser.add_argument(
            "--wait",
            type=float,
            default=5.0,
            metavar="SECONDS",
            help="how long to wait for a worker; default: 5",
        )
        parser.add_argument(
            "--no-read", action="store_true", help="do not have the order read afterwards"
        )

    def handle(self, *_: Any, **options: Any) -> None:
        """Send the event, wait a few seconds for a worker, and print the result."""
        workspace = self.workspace(options["slug"])
        payload = self._payload(workspace, options)
        one = test_event.call(workspace, payload)
        if options["dry_run"]:
            document = {"dryRun": True, "url": one.url, "headers": _shown(one), "payload": payload}
            self.emit(document, _call_lines(one), as_json=options["json"])
            return
        if workspace.auth_type != Workspace.AuthType.NONE and not workspace.auth_secret:
            self.fail(
                f"{workspace} has no webhook yet: {command(f'configure_webhook {workspace}')}"
            )
        status = self._send(one)
        found = test_event.outcome(workspace, one, seconds=options["wait"])
        if found is None:
            self.fail(
                f"{one.url} answered {status}, but nothing was stored here: PUBLIC_BASE_URL leads"
                " to another installation, or one with another database"
            )
        read = None if options["no_read"] else _ask(workspace, payload)
        self._report(one, status, found, read, as_json=options["json"])

    def _payload(self, workspace: Workspace, options: dict[str, Any]) -> dict[str, Any]:
        kind = options["kind"].upper()
        try:
            at = read_moment("--at", options["at"]) if options["at"] else timezone.now()
            if kind not in sample_events.KINDS:
                raise sample_events.NoSuchKind(options["kind"])
            known = sample_events.allowed(kind, _known(workspace, kind, options))
            payload = sample_events.sample(kind, at=at, fields=known | _set(options["set"]))
            parse(json.dumps(payload).encode())
            for name, value in sample_events.headers(payload).items():
                if not (value.isascii() and value.isprintable()):
                    raise ValueError(f"{name} cannot be {value!r}: it is a header")
        except (sample_events.NoSuchKind, NotUnderstood, ValueError) as error:
            self.fail(str(error), USAGE)
        return payload

    def _send(self, one: CallbackRequest) -> int:
        try:
            answer = test_event.send(one)
        except TransientError as error:
            self.fail(f"{error}: is the web server running, and is PUBLIC_BASE_URL right?")
        if not 200 <= answer.status < 300:
            advice = CHECK.get(answer.status, OTHER)
            self.fail(f"{one.url} answered {answer.status}: {advice}")
        return answer.status

    def _report(
        self,
        one: CallbackRequest,
        status: int,
        found: ReceivedEvent,
        read: Order | None,
        *,
        as_json: bool,
    ) -> None:
        is_pending = found.state == ReceivedEvent.State.RECEIVED
        document = {
            "url": one.url,
            "payload": one.payload,
            "status": status,
            "delivery": found.pk,
            "state": found.state,
            "effect": found.effect,
            "repeats": found.repeats,
            "read": read.platform_id if read else None,
        }
        became = NOBODY if is_pending else f"{found.get_state_display()}: {found.effect}"
        lines = [
            *_call_lines(one),
            f"answered {status}",
            f"received event {found.pk} {became}",
            *([f"the same bytes came {found.repeats} times before"] if found.repeats else []),
            *([f"{read} is read again, so that its real status comes back"] if read else []),
        ]
        self.emit(document, lines, as_json=as_json)
        if found.state in STUCK:
            self.fail(f"it was stored, but not applied: {found.effect}", PARTLY)


def _known(workspace: Workspace, kind: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return the fields from the options, and others from the rows of this workspace."""
    orders = Order.objects.filter(workspace=workspace)
    assignments = Assignment.objects.filter(workspace=workspace)
    order_id, assignment_id = options["order"], options["assignment"]
    assignment = assignments.filter(platform_id=assignment_id).first() if assignment_id else None
    if order_id:
        order = orders.filter(platform_id=order_id).first()
    else:
        order = assignment.order if assignment else orders.order_by("-pk").first()
    if order is not None and not assignment_id:
        assignment = order.assignments.order_by("pk").first()
    subject = order if kind == events.ORDER_STATUS_UPDATED else assignment
    found = {
        "orderId": order_id or (order.platform_id if order else None),
        "assignmentId": assignment_id or (assignment.platform_id if assignment else None),
        "assignmentType": assignment.assignment_type if assignment else None,
        "product": next(iter(assignment.products), None) if assignment else None,
        "propertyId": order.property_platform_id if order else None,
        "realEstatePropertyId": order.property_platform_id if order else None,
        "objectReferenceId": order.object_reference_id if order else None,
        "newStatus": options["status"],
        "previousStatus": options["previous"] or (subject.status if subject else None),
    }
    return {name: value for name, value in found.items() if value}


def _set(pairs: list[str]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not (name and equals):
            raise ValueError(f"--set takes NAME=VALUE, not {pair!r}")
        try:
            fields[name] = json.loads(text)
        except ValueError:
            fields[name] = text
    return fields


def _ask(workspace: Workspace, payload: dict[str, Any]) -> Order | None:
    """Make the order of the event due for a read."""
    mine = Order.objects.filter(workspace=workspace, platform_id=payload.get("orderId", ""))
    order = mine.first()
    if order is not None:
        updates.ask_for(order, now=timezone.now())
    return order


def _shown(one: CallbackRequest) -> dict[str, str]:
    """Return the headers with the secret masked, for a person."""
    harmless = {
        "content-type",
        "x-event-type",
        "x-order-id",
        *(name.lower() for name in test_event.MARK),
    }
    return {name: text if name.lower() in harmless else MASK for name, text in one.headers.items()}


def _call_lines(one: CallbackRequest) -> list[str]:
    query = "".join(f"?{name}={MASK}" for name in one.params)
    headers = [f"{name}: {text}" for name, text in _shown(one).items()]
    return [f"POST {one.url}{query}", *headers, json.dumps(one.payload, ensure_ascii=False)]
