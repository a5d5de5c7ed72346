"""The mirror of one property: our values, the platform's values, and the work in between."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any, Self, TypeVar, cast

from django.db import models
from django.db.models import Case, F, Q, Value, When
from django.db.models.fields.json import KT
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy as _

from crm_sync.models.due import DueModel, due_index, leased, no_half_lease
from crm_sync.models.problem import ProblemField
from crm_sync.platform.errors import Problem
from crm_sync.sentence import sentence
from properties.catalog.enums import OFFER_TYPES
from properties.catalog.lookup import order_of
from properties.models.documents import NumberAt, are_objects
from properties.models.match_columns import COLUMNS, MatchField, keys_of
from properties.models.search_column import SOURCES, SearchField, SearchIndex, text_of

Rows = TypeVar("Rows", bound="models.QuerySet[Property]")
Test = Callable[["Property", datetime], bool]


class SyncState(models.TextChoices):
    """The state of a row, as people see it. It is derived from the columns and never stored."""

    IN_SYNC = "IN_SYNC", _("In sync")
    NEVER_PUSHED = "NEVER_PUSHED", _("Not sent yet")
    PENDING = "PENDING", _("Pending")
    HELD = "HELD", _("Held by a person")
    TO_MATCH = "TO_MATCH", _("To be matched")
    PUSHING = "PUSHING", _("Being sent")
    CONFLICT = "CONFLICT", _("Conflict")
    REFUSED = "REFUSED", _("Refused")
    DIFFERS = "DIFFERS", _("Reads back different")
    CANNOT_CLEAR = "CANNOT_CLEAR", _("Cannot be cleared")
    DUPLICATE = "DUPLICATE", _("Duplicate reference")
    GONE = "GONE", _("Gone from the platform")


class ProblemKind(models.TextChoices):
    """Why a field waits for a person. It is left out of the PATCH until somebody edits it."""

    CONFLICT = "CONFLICT", _("both sides changed it")
    REFUSED = "REFUSED", _("the platform refused it")
    DIFFERS = "DIFFERS", _("the platform took it but reads back another value")
    CANNOT_CLEAR = "CANNOT_CLEAR", _("the platform keeps its value: a PATCH cannot clear it")
    GONE = "GONE", _("the platform has it no longer")
    DUPLICATE = "DUPLICATE", _("another property of the platform has its reference")


class WaitReason(models.TextChoices):
    """Why a due row waits until its `due_at`."""

    PARENT = "PARENT", _("its parent must be created first")
    CREATION = "CREATION", _("the platform did not answer its creation, and may still create it")
    LAG = "LAG", _("the platform still showed a value from before our last call; it is read again")
    VERIFICATION = (
        "VERIFICATION",
        _("an earlier call may still reach the platform; it is read again after that"),
    )
    PAUSE = "PAUSE", _("the workspace is paused")
    HELD = "HELD", _("a person has paused sending in this workspace")
    FAILURE = "FAILURE", _("the last attempt failed")
    MATCH = "MATCH", _("the platform may have it already: match it first")
    UNREAD = "UNREAD", _("a property of the platform that may be this one is read first")


# Each row whose state is not IN_SYNC.
OUT_OF_STEP = ~Q(problem={}) | Q(due_at__isnull=False) | Q(platform_id__isnull=True)


# The platform has it, and no feed names it: what is only here may be the same property.
UNFED = Q(platform_id__isnull=False, fed_by__isnull=True)

# The platform has it, and it is read soon. One that could not be read does not keep others waiting.
TO_READ = UNFED & Q(read_at__isnull=True, due_at__isnull=False, attempts=0)

# It is not created before a person has matched it, since the platform may have it (I36).
TO_MATCH = Q(
    platform_id__isnull=True, due_at__isnull=False, wait_reason=WaitReason.MATCH, lease_token=None
)

# A row that only waits for its verifying read (I3) has nothing to send. No part of this is ever
# NULL, so that its negation means the same in SQL and in Python.
TO_SEND = Q(due_at__isnull=False) & ~Q(verify_at__isnull=False, due_at=models.F("verify_at"))


def _states(now: datetime) -> tuple[tuple[Q, SyncState], ...]:
    """Return the conditions of the states, in order. If none holds, the row is in sync.

    Problems come first, because a person must act on them. `PropertyQuerySet.with_state` and
    `Property.state_at` are both made from this table.
    """
    is_due, is_new = Q(due_at__isnull=False), Q(platform_id__isnull=True)
    return (
        (Q(problem__has_key=ProblemKind.GONE.value), SyncState.GONE),
        (Q(problem__has_key=ProblemKind.DUPLICATE.value), SyncState.DUPLICATE),
        (Q(problem__has_key=ProblemKind.CONFLICT.value), SyncState.CONFLICT),
        (Q(problem__has_key=ProblemKind.REFUSED.value), SyncState.REFUSED),
        (is_due & leased(now), SyncState.PUSHING),
        (TO_SEND & Q(wait_reason=WaitReason.HELD, due_at__gt=now), SyncState.HELD),
        (TO_SEND & is_new & Q(wait_reason=WaitReason.MATCH, due_at__gt=now), SyncState.TO_MATCH),
        (is_due & is_new, SyncState.NEVER_PUSHED),
        (TO_SEND, SyncState.PENDING),
        (Q(problem__has_key=ProblemKind.DIFFERS.value), SyncState.DIFFERS),
        (Q(problem__has_key=ProblemKind.CANNOT_CLEAR.value), SyncState.CANNOT_CLEAR),
        (is_new, SyncState.NEVER_PUSHED),
    )


# The offers that the interface knows.
OFFER_TYPE = Case(
    *(When(desired__offerType=one, then=Value(one)) for one in OFFER_TYPES),
    output_field=models.TextField(null=True),
)
_BUY = NumberAt("desired", path="prices.buy.price")
_GROSS = NumberAt("desired", path="prices.rent.gross")
_NET = NumberAt("desired", path="prices.rent.net")
# The number that `domain.headline.price` shows. An offer that is neither shows what there is.
ASKING_PRICE = Case(
    When(desired__offerType="BUY", then=_BUY),
    When(desired__offerType="RENT", then=Coalesce(_GROSS, _NET)),
    default=Coalesce(_BUY, _GROSS, _NET),
    output_field=models.FloatField(null=True),
)


# What the list is filtered by, and is short: an entry of an index may have 2,700 bytes.
FILTERED = ("offer_type", "asking_price", "number_of_rooms")


class PropertyQuerySet(models.QuerySet["Property"]):
    """The queries of the screens and the tasks."""

    def with_state(self, now: datetime) -> Self:
        """Annotate `sync_state`."""
        cases = [When(condition, then=Value(state)) for condition, state in _states(now)]
        default = Value(SyncState.IN_SYNC)
        return self.annotate(
            sync_state=Case(*cases, default=default, output_field=models.CharField())
        )

    def with_rules(self) -> Self:
        """Load the rules of the workspace with each row, for `owners.of`, and no secret (S5)."""
        return with_rules(self)


def with_rules(rows: Rows) -> Rows:
    """Load the rules of the workspace with each row; see `PropertyQuerySet.with_rules`."""
    return rows.annotate(
        rules_of=F("workspace__slug"),
        rules_policy=F("workspace__conflict_policy"),
        rules=F("workspace__owners"),
    )


def _generated(expression: Any, kind: "type[models.Field[Any, Any]]") -> models.GeneratedField:
    return models.GeneratedField(
        expression=expression, output_field=kind(null=True), db_persist=True
    )


class Property(DueModel):
    """One property, keyed by its reference within the workspace.

    Only `editing.edit` and the merge write `desired`. Only the holder of the lease writes
    `observed` and `inflight`. Both documents use the platform's wire names.
    """

    workspace = models.ForeignKey("crm_sync.Workspace", on_delete=models.PROTECT)
    # A property without a reference (A44) is mirrored under its platform id.
    object_reference_id = models.CharField(_("reference"), max_length=255, null=True, blank=True)
    platform_id = models.CharField(max_length=255, null=True, blank=True, editable=False)
    desired = models.JSONField(default=dict, help_text="What our people want")
    observed = models.JSONField(default=dict, help_text="What the platform last confirmed")
    # Leaf to values that may have reached the platform; written before every PATCH (I2).
    inflight = models.JSONField(default=dict, editable=False)
    # What our last calls have replaced: [[until when a read may still show it, {leaf:
    # value}], …]; the leaf "" is the property as a whole (decision 38).
    replaced = models.JSONField(default=list, db_default=[], editable=False)
    revision = models.PositiveBigIntegerField(default=0, editable=False)
    # A person made it due, so it precedes rows that a feed or a check made due. A claim clears it.
    is_urgent = models.BooleanField(default=False, db_default=False, editable=False)
    # When to read it again, because an earlier call may still take effect (I3).
    verify_at = models.DateTimeField(null=True, blank=True, editable=False)
    # When the POST of a creation was sent, while its outcome is not known (I8).
    create_sent_at = models.DateTimeField(null=True, blank=True, editable=False)
    # {kind: {leaf: message}}; the leaf "" is the property as a whole. A message: `Problem.stored`.
    problem = models.JSONField(default=dict, blank=True, editable=False)
    # The reason of the last ending. Code that makes the row due at once does not change it.
    wait_reason = models.CharField(
        max_length=20, choices=WaitReason.choices, blank=True, default="", editable=False
    )
    last_answer = ProblemField(blank=True, default="", editable=False)
    read_at = models.DateTimeField(null=True, blank=True, editable=False)
    pushed_at = models.DateTimeField(null=True, blank=True, editable=False)
    # The last walk over the platform's list that showed it (I28).
    listed_in = models.ForeignKey(
        "properties.Walk", null=True, blank=True, editable=False, on_delete=models.SET_NULL
    )
    # The values of its last feed record, leaf by leaf. The same record again changes nothing, even
    # if somebody has edited the field since.
    fed = models.JSONField(default=dict, blank=True, editable=False)
    # The digest of everything that this record led to, and the sender or format of the feed. Null
    # if the last full feed did not have the property.
    fed_digest = models.CharField(max_length=64, blank=True, default="", editable=False)
    fed_by = models.CharField(max_length=20, null=True, blank=True, editable=False)
    # The values of its last feed record for which the property model has no field.
    leftover = models.JSONField(default=dict, blank=True, editable=False)
    # State and revision of the last message to other systems; see `push.sync_messages`.
    told = models.CharField(max_length=40, blank=True, default="", db_default="", editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    # Generated by the database, for search, filter and order. A cast that fails would make the row
    # impossible to save on PostgreSQL, so a number is read only where there is one.
    title = _generated(KT("desired__title"), models.TextField)
    property_type = _generated(KT("desired__propertyType"), models.TextField)
    locality = _generated(KT("desired__address__locality"), models.TextField)
    offer_type = _generated(OFFER_TYPE, models.TextField)
    asking_price = _generated(ASKING_PRICE, models.FloatField)
    number_of_rooms = _generated(NumberAt("desired", path="numberOfRooms"), models.FloatField)

    # The words by which people find it. `with_derived` writes it and the keys beside `desired`.
    search = SearchField(default="", db_default="", editable=False)

    # The keys by which it is matched with a property of the platform, before it is created there.
    is24_key = MatchField()
    unit_key = MatchField()
    address_key = MatchField()
    # A person has seen that none of the platform's properties is this one.
    none_there = models.BooleanField(default=False, db_default=False, editable=False)

    objects = PropertyQuerySet.as_manager()

    class Meta:
        verbose_name = _("property")
        verbose_name_plural = _("properties")
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "object_reference_id"], name="one_property_per_reference"
            ),
            models.UniqueConstraint(
                fields=["workspace", "platform_id"], name="one_property_per_platform_id"
            ),
            # One row that no code can read would stop the sweep, the sample and the audit of all.
            models.CheckConstraint(
                condition=are_objects("desired", "observed", "inflight", "problem"),
                name="documents_of_a_property_are_objects",
            ),
            no_half_lease("property"),
            models.CheckConstraint(
                condition=Q(verify_at__isnull=True) | Q(due_at__isnull=False),
                name="property_to_be_read_once_more_is_due",
            ),
        ]
        indexes = [
            due_index("property"),
            # Urgent rows: a claim must find them among many due rows.
            models.Index(
                fields=["workspace", "due_at"],
                name="property_urgent",
                condition=Q(is_urgent=True),
            ),
            # The number of calls of a workspace that are under way (A8).
            models.Index(
                fields=["workspace", "lease_until"],
                name="property_leased",
                condition=Q(lease_until__isnull=False),
            ),
            # The order of the list, with what it is filtered by, so that a narrow index is read
            # instead of the wide rows; for people with some workspaces SQLite reads the next one.
            models.Index(
                fields=["object_reference_id", "id", "workspace", *FILTERED],
                name="property_listed",
            ),
            SearchIndex(
                fields=["workspace", "object_reference_id", "id", *FILTERED, "search"],
                name="property_search",
            ),
            # For the tiles and filters, which need these few rows among many that are in sync.
            models.Index(fields=["id"], name="property_out_of_step", condition=OUT_OF_STEP),
            models.Index(fields=["workspace", "locality"], name="property_locality"),
            # What an import must know of existing properties, without reading the wide rows.
            models.Index(
                fields=["workspace", "fed_by", "object_reference_id", "fed_digest"],
                name="property_fed",
                condition=Q(fed_by__isnull=False),
            ),
            # What a pull has found and nobody has read: asked before each creation (I36).
            models.Index(fields=["workspace", "due_at"], name="property_unread", condition=TO_READ),
            # Matching: what is only here, and the platform's properties that no feed has. They hold
            # all that a matching reads, so that it reads no wide row.
            models.Index(
                fields=[
                    *("workspace", "platform_id", *COLUMNS.values()),
                    *("object_reference_id", "none_there", "id"),
                ],
                name="property_only_here",
                condition=Q(platform_id__isnull=True),
            ),
            *(
                models.Index(
                    fields=["workspace", "fed_by", column, "platform_id", *more, "id"],
                    name=f"property_{column}",
                    condition=UNFED,
                )
                for column, *more in (
                    ("is24_key", "object_reference_id"),
                    ("unit_key",),
                    ("address_key",),
                )
            ),
        ]

    def __str__(self) -> str:
        if self.object_reference_id:
            return self.object_reference_id
        return gettext("platform id %(id)s") % {"id": self.platform_id}

    def state_at(self, now: datetime) -> SyncState:
        """Return the state from the columns of this instance, saved or not."""
        found = (state for test, state in _TESTS if test(self, now))
        return next(found, SyncState.IN_SYNC)

    def waits_because(self, now: datetime) -> str:
        """Return in words why the row waits; "" if it is not due later."""
        is_later = self.due_at is not None and self.due_at > now and not self.lease_token
        return str(WaitReason(self.wait_reason).label) if is_later and self.wait_reason else ""

    @property
    def blocked(self) -> set[str]:
        """The leaves that wait for a person and are left out of the PATCH."""
        return {path for fields in self.problem.values() for path in fields}

    @property
    def left_out(self) -> set[str]:
        """The blocked leaves that the next call does not have.

        A creation overwrites nothing, so it has those with a conflict; and it has the reference, by
        which alone a read finds what it has created (I8).
        """
        if self.platform_id is not None:
            return self.blocked
        others = {kind: at for kind, at in self.problem.items() if kind != ProblemKind.CONFLICT}
        return {path for fields in others.values() for path in fields} - {"objectReferenceId"}

    @property
    def problems(self) -> list[tuple[str, str, Problem]]:
        """Kind, leaf and message of each problem; the leaf "" is the whole property.

        They stand in the order of the catalog, the whole property first: PostgreSQL stores none.
        """
        found = [(kind, path) for kind, fields in self.problem.items() for path in fields]
        found.sort(key=lambda one: (order_of(one[1]), one))
        return [(kind, path, Problem.of(self.problem[kind][path])) for kind, path in found]

    def problems_at(self, path: str) -> list[Problem]:
        """Return the messages at one leaf ("" for the whole property)."""
        return [message for __, leaf, message in self.problems if leaf == path]


class _Moment:
    """Stands for the time of a question in the table of states, moved by `distance`."""

    def __init__(self, distance: timedelta = timedelta()) -> None:
        self.distance = distance

    def __add__(self, more: timedelta) -> "_Moment":
        return _Moment(self.distance + more)


def _test(condition: Q) -> Test:
    """Return a condition of the table of states as a function of an instance and the time."""
    children: list[Any] = list(condition.children)
    tests = [_test(one) if isinstance(one, Q) else _comparison(*one) for one in children]
    joined, negated = any if condition.connector == Q.OR else all, condition.negated
    return lambda row, now: joined(test(row, now) for test in tests) is not negated


def _comparison(lookup: str, wanted: Any) -> Test:
    name, __, comparison = lookup.partition("__")
    value = attrgetter(name)
    match comparison, wanted:
        case "", models.F():
            other = attrgetter(wanted.name)  # type: ignore[attr-defined] # the stubs have none
            return lambda row, now: bool(value(row) == other(row))
        case "", _:
            return lambda row, now: bool(value(row) == wanted)
        case "isnull", _:
            return lambda row, now: (value(row) is None) is wanted
        case "has_key", _:
            return lambda row, now: wanted in value(row)
        case "gt", _Moment():
            return lambda row, now: (at := value(row)) is not None and at > now + wanted.distance
        case "lte", _Moment():
            return lambda row, now: (at := value(row)) is not None and at <= now + wanted.distance
    raise ValueError(f"the table of states has a lookup that is not known here: {lookup}")


# Made once, since each push asks for the state at its end.
_TESTS = [(_test(condition), state) for condition, state in _states(cast(datetime, _Moment()))]


def with_derived(row: Property, columns: Mapping[str, Any]) -> dict[str, Any]:
    """Add the words of a search and the keys of a match to the columns that an UPDATE sets."""
    if SOURCES.isdisjoint(columns):
        return dict(columns)
    keys = keys_of(columns["desired"]) if "desired" in columns else {}
    return {**columns, "search": text_of(row, **columns), **keys}


def without_problems(problem: dict[str, Any], paths: set[str]) -> dict[str, Any]:
    """Return the problems that are left after an edit of `paths`; any edit removes the leaf ""."""
    gone = paths | {""}
    kept = {
        kind: {path: text for path, text in fields.items() if path not in gone}
        for kind, fields in problem.items()
    }
    return {kind: fields for kind, fields in kept.items() if fields}


def taken_reference(reference: str, other: Property) -> dict[str, str]:
    """Return the problem text for a reference that another row has (A44)."""
    if other.platform_id is None:
        text = sentence(
            "the platform names it %(reference)s, and so is another one here that is not there yet",
            reference=reference,
        )
    else:
        text = sentence(
            "the platform has reference %(reference)s twice: also as id %(id)s",
            reference=reference,
            id=other.platform_id,
        )
    return {"objectReferenceId": text}


def with_problem(
    problem: dict[str, Any], kind: ProblemKind, fields: Mapping[str, str]
) -> dict[str, Any]:
    """Return the problems with `fields` (leaf to message) added under `kind`."""
    if not fields:
        return problem
    stored = {path: Problem.of(text).stored for path, text in fields.items()}
    return problem | {kind.value: problem.get(kind.value, {}) | stored}
