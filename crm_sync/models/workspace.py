"""One connection to the platform."""

import logging
import uuid
from copy import copy
from datetime import datetime, timedelta
from functools import partial

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import DatabaseError, models, transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _, gettext_noop, pgettext_lazy

from crm_sync.installed import command
from crm_sync.models import call_log
from crm_sync.models.hold import AGAIN, Hold
from crm_sync.models.pausing import Pausing
from crm_sync.models.received_event import ReceivedEvent
from crm_sync.platform import addresses, callers
from crm_sync.platform.client import Client
from crm_sync.platform.clock import ClockReading
from crm_sync.platform.credentials import ClientCredentials, Credentials, FixedToken
from crm_sync.platform.errors import AuthError, ErrorKind, OnHold
from crm_sync.platform.work_kind import LEAVING, NAMES, WorkKind
from crm_sync.secrets import EncryptedTextField, several
from crm_sync.sentence import sentence
from crm_sync.text import capitalized

log = logging.getLogger(__name__)

# The least time between two records of the platform's clock, since its machines may differ.
CLOCK_PACE = timedelta(seconds=10)
MOST_UNDER_WAY = 100  # requests

BEHIND_A_PROXY = _(
    "Behind a TLS proxy every call comes from the proxy: first name it in TRUSTED_PROXIES, else"
    " every callback would be refused."
)


class Workspace(Pausing):
    """A workspace. Each other row belongs to exactly one, in which keys are unique (S12)."""

    class AuthType(models.TextChoices):
        """How the platform authenticates its callbacks (§5.2)."""

        NONE = "NONE", pgettext_lazy("authentication", "None")
        HEADER = "HEADER", _("Header")
        QUERY_PARAMETER = "QUERY_PARAMETER", _("Query parameter")
        BEARER_TOKEN = "BEARER_TOKEN", _("Bearer token")

    class ConflictPolicy(models.TextChoices):
        """Which value wins when both sides changed one field (I4)."""

        CRM_WINS = "crm_wins", _("Our value wins")
        PLATFORM_WINS = "platform_wins", _("The platform's value wins")
        ASK = "ask", _("A person decides")

    SECRETS = ("fixed_token", "client_secret", "auth_secret", "previous_auth_secret")

    slug = models.SlugField(_("slug"), unique=True)
    # The unguessable part of the callback address (S2).
    uuid = models.UUIDField(_("callback id"), unique=True, default=uuid.uuid4, editable=False)
    base_url = models.URLField(_("base address"), max_length=500)
    fixed_token = EncryptedTextField(blank=True, default="", editable=False)
    client_id = models.CharField(max_length=255, blank=True, default="")
    client_secret = EncryptedTextField(blank=True, default="", editable=False)
    credentials_at = models.DateTimeField(null=True, blank=True, editable=False)

    auth_type = models.CharField(
        _("callback authentication"), max_length=20, choices=AuthType, default=AuthType.HEADER
    )
    auth_header_name = models.CharField(max_length=100, default="X-API-Key")
    auth_parameter_name = models.CharField(max_length=100, default="token")
    # While the names are changed on the platform, the previous names are valid too, separated by
    # blanks. They have no end if the platform's answer to a change never came.
    previous_auth_names = models.TextField(blank=True, default="", editable=False)
    previous_auth_names_until = models.DateTimeField(null=True, blank=True, editable=False)
    auth_secret = EncryptedTextField(blank=True, default="", editable=False)
    # During a rotation all of them are valid (S6): the previous ones, a line each, have no end if
    # the platform's answer to the rotation never came.
    previous_auth_secret = EncryptedTextField(blank=True, default="", editable=False)
    previous_auth_secret_until = models.DateTimeField(null=True, blank=True, editable=False)
    # When the last call with the secret began, unless it was alone and has been answered.
    auth_secret_sent_at = models.DateTimeField(null=True, blank=True, editable=False)
    callback_sources = models.TextField(
        _("callbacks come from"),
        blank=True,
        default="",
        help_text=_(
            "Addresses or networks, such as 192.0.2.0/24, with blanks between them; empty:"
            " anywhere."
        ),
    )

    conflict_policy = models.CharField(
        _("conflict policy"), max_length=20, choices=ConflictPolicy, default=ConflictPolicy.CRM_WINS
    )
    # The rules who owns a field of a property, which only the app of the properties reads.
    owners = models.JSONField(default=dict, db_default={}, blank=True, editable=False)
    read_before_write = models.BooleanField(
        _("read before write"),
        default=True,
        help_text=_("Read a property before each push. Without it conflicts are not noticed."),
    )
    max_under_way = models.PositiveSmallIntegerField(
        _("requests under way at most"), default=8, help_text=_("For all workers together.")
    )

    # When `manage.py restored` was run. Rows that were not read since then may be outdated.
    restored_at = models.DateTimeField(null=True, blank=True, editable=False)

    # How far the platform's clock is ahead of ours; None before the first answer with a date (I29).
    clock_ahead = models.DurationField(null=True, blank=True, editable=False)
    clock_noted_at = models.DateTimeField(null=True, blank=True, editable=False)

    refused_callbacks = models.PositiveIntegerField(default=0, editable=False)
    last_refusal = models.CharField(max_length=255, blank=True, default="", editable=False)
    last_refusal_at = models.DateTimeField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    # Kinds of messages for its enabled subscriptions, updated by `outgoing.outbox`.
    outgoing_kinds = models.JSONField(default=list, editable=False)
    people = models.ManyToManyField(
        settings.AUTH_USER_MODEL,
        verbose_name=_("people"),
        blank=True,
        related_name="workspaces",
        help_text=_("Who sees this workspace. Operators and superusers see every one."),
    )

    class Meta:
        verbose_name = _("workspace")
        verbose_name_plural = _("workspaces")
        permissions = [("all_workspaces", gettext_noop("Can see every workspace"))]

    def __str__(self) -> str:
        return self.slug

    def clean(self) -> None:
        """Refuse a base address that must not get the token, and unreadable networks."""
        if fault := addresses.fault(self.base_url):
            raise ValidationError({"base_url": f"{capitalized(fault.said())}."})
        if fault := callers.fault(self.callback_networks):
            raise ValidationError({"callback_sources": f"{fault.said()}."})
        if self.callback_networks and settings.HTTPS and not settings.TRUSTED_PROXIES:
            raise ValidationError({"callback_sources": BEHIND_A_PROXY})

    @property
    def callback_networks(self) -> list[str]:
        """The networks from which callbacks are accepted; if empty, from anywhere (S22)."""
        return self.callback_sources.replace(",", " ").split()

    @property
    def callback_url(self) -> str:
        """The address that the platform calls."""
        return f"{settings.PUBLIC_BASE_URL}/webhooks/{self.uuid}/"

    @property
    def credentials(self) -> Credentials:
        """The fixed token, or the client credentials (A6).

        Raises:
            AuthError: the workspace has neither.
        """
        if self.fixed_token:
            return FixedToken(self.fixed_token)
        if self.client_id and self.client_secret:
            return ClientCredentials(self.client_id, self.client_secret)
        text = f"workspace {self.slug} has no credentials: see `{command('add_workspace')}`"
        raise AuthError(text, kind=ErrorKind.NO_CREDENTIALS)

    def client(self, *, deadline: float | None = None) -> Client:
        """Return the client of this workspace, with a `deadline` in seconds for each call.

        Raises:
            AuthError: there are no credentials, or they must not be sent to the base address.
        """
        if not self.get_deferred_fields().isdisjoint(self.SECRETS):
            self.refresh_from_db(fields=["base_url", "client_id", *self.SECRETS])
        # The address and the token of one moment (S15): another thread may read this row anew.
        row = copy(self)
        if fault := addresses.fault(row.base_url):
            text = sentence(
                "%(address)s cannot be called: %(reason)s. Change it by `%(command)s`",
                address=addresses.shown(row.base_url),
                reason=fault,
                command=command(f"add_workspace {self.slug}"),
            )
            raise AuthError(text)
        return Client(
            row.base_url,
            row.credentials,
            deadline=deadline or settings.CALL_DEADLINE,
            hear=self.hear_clock,
            observe=partial(call_log.note, self.pk),
            secrets=row.secrets,
            allow=self.refuse_held,
        )

    def refuse_held(self, kind: WorkKind) -> None:
        """Raise `OnHold`, with the reason, if a person holds this kind of work now (I34)."""
        now = timezone.now()
        if hold := Hold.objects.holding(self.pk, kind, now):
            named = {"work": NAMES[kind], "workspace": self.slug, "because": hold.because}
            if kind in LEAVING:
                text = sentence(
                    "%(work)s of %(workspace)s are %(because)s. Nothing was sent.", **named
                )
            else:
                text = sentence("%(work)s of %(workspace)s are %(because)s.", **named)
            later = now + AGAIN
            raise OnHold(text, until=min(hold.until or later, later))

    @property
    def secrets(self) -> tuple[str, ...]:
        """The secrets that authenticate us or the platform. No text may show them (S5)."""
        return tuple(one for name in self.SECRETS for one in several(getattr(self, name)))

    def hear_clock(self, reading: ClockReading) -> None:
        """Record how far the platform's clock is ahead of ours, if that has changed (I29, S11).

        Events that wait because their date is ahead of this clock become due at once.
        """
        noted_at, now = self.clock_noted_at, reading.ours
        is_fresh = noted_at is not None and abs(now - noted_at) < CLOCK_PACE
        if is_fresh or not reading.differs_from(self.clock_ahead):
            return
        unmoved = {"pk": self.pk, "clock_noted_at": noted_at}
        try:
            with transaction.atomic():
                mine = Workspace.objects.filter(**unmoved)
                if mine.update(clock_ahead=reading.ahead, clock_noted_at=now):
                    early = ReceivedEvent.objects.filter(
                        workspace=self, state=ReceivedEvent.State.EARLY
                    )
                    early.update(due_at=now)
            self.refresh_from_db(fields=["clock_ahead", "clock_noted_at"])
        except DatabaseError:  # the answer of the call must not be lost for this
            log.exception("the clock of the platform of %s could not be noted", self)

    def valid_auth_secrets(self, now: datetime) -> list[str]:
        """Return the valid secrets of a callback at `now`, the newest first (S6).

        It is one, two in a rotation, and more if another rotation followed at once.
        """
        until = self.previous_auth_secret_until
        previous = self.previous_auth_secret if until is None or now < until else ""
        return [*several(self.auth_secret), *several(previous)]

    def valid_auth_names(self, now: datetime) -> list[str]:
        """Return the names of headers and parameters that may carry the secret (§2.1, §5.2)."""
        until = self.previous_auth_names_until
        previous = self.previous_auth_names.split() if until is None or now < until else []
        return [self.auth_header_name, self.auth_parameter_name, *previous]
