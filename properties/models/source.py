"""The sources: where and when the feeds of a sender are fetched, and the results."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy as _, pgettext_lazy

from crm_sync.models.due import DueModel, due_index, no_half_lease
from crm_sync.models.problem import SentenceField
from crm_sync.secrets import EncryptedTextField

WEEK = 7 * 24 * 60  # minutes


class SignIn(models.TextChoices):
    """How a request signs in. FTP and SFTP allow only the first way."""

    PASSWORD = "PASSWORD", _("User and password")
    BEARER = "BEARER", _("Bearer token")
    HEADER = "HEADER", _("Header of its own")
    SIGNED = "SIGNED", _("Signature with the time")


class Delivery(models.TextChoices):
    """How a sender puts its feeds at the address of a source."""

    REPLACED = "REPLACED", _("One file that is replaced")
    IN_TURN = "IN_TURN", _("Files one after the other, in the order of their names")


class Source(DueModel):
    """A file, or a folder of files, that is fetched on a schedule; the row is the queue.

    The holder of the lease writes `etag` to `read_as`, which describe the last fetch, and also the
    times and the problem. A person requests a fetch with `is_asked`. `secret` is a password, a
    private key, a token, the value of a header, or the key of signatures.
    """

    SignIn = SignIn
    Delivery = Delivery
    QUEUE = "sources"
    # A fetch may begin: by the schedule, or because a person asked for something.
    WANTED = Q(is_enabled=True) | Q(is_asked=True) | Q(goes_on=True) | Q(skips_before__isnull=False)

    workspace = models.ForeignKey("crm_sync.Workspace", on_delete=models.PROTECT)
    sender = models.ForeignKey(
        "properties.Sender",
        verbose_name=_("sender"),
        on_delete=models.PROTECT,
        help_text=_("Whose feed it is"),
    )
    address = models.CharField(
        _("address"),
        max_length=500,
        help_text=_(
            "https://…, sftp://…, ftps://…, ftp://…, http://…, or a folder of the server that"
            " SOURCE_FOLDERS names. With a slash at the end it is a folder: the feed in it is"
            " taken."
        ),
    )
    delivery = models.CharField(
        _("deliveries"),
        max_length=10,
        choices=Delivery,
        default=Delivery.REPLACED,
        help_text=_(
            "Files one after the other: the address is a folder, such as sftp://…/out/. Each file"
            " is imported once."
        ),
    )
    sign_in = models.CharField(
        _("sign in by"),
        max_length=10,
        choices=SignIn,
        default=SignIn.PASSWORD,
        help_text=_("Other ways than user and password are for https:// and http://."),
    )
    header = models.CharField(
        _("name of the header"),
        max_length=100,
        blank=True,
        default="",
        help_text=_("For a header of its own, such as X-Api-Key."),
    )
    user = models.CharField(
        _("user"),
        max_length=200,
        blank=True,
        default="",
        help_text=_("Of a signature: what the sender calls the key, if it wants to know."),
    )
    secret = EncryptedTextField(blank=True, default="")
    # The key of an SFTP server at the first connection.
    host_key = models.TextField(blank=True, default="", editable=False)
    is_enabled = models.BooleanField(_("fetch on the schedule"), default=True)
    every_minutes = models.PositiveIntegerField(
        _("every … minutes"),
        null=True,
        blank=True,
        default=60,
        validators=[MinValueValidator(1), MaxValueValidator(WEEK)],
    )
    daily_at = models.TimeField(_("or once a day at"), null=True, blank=True)
    expect_hours = models.PositiveIntegerField(
        _("expect something new within … hours"),
        null=True,
        blank=True,
        default=72,
        validators=[MinValueValidator(1), MaxValueValidator(24 * 366)],
        help_text=_("Otherwise an alarm; empty for none."),
    )
    mail_to = models.TextField(
        _("mail to"),
        blank=True,
        default="",
        help_text=_("Addresses that get the report of each import, and the alarms; one a line."),
    )
    is_asked = models.BooleanField(default=False, editable=False)
    insists = models.BooleanField(default=False, editable=False)  # import even if much is missing
    # Files in turn, without a schedule: a person's fetch goes on with the next file.
    goes_on = models.BooleanField(default=False, editable=False)
    # Files in turn: the next fetch skips those that were there at this moment.
    skips_before = models.DateTimeField(null=True, blank=True, editable=False)
    etag = models.CharField(max_length=500, blank=True, default="", editable=False)
    modified = models.CharField(max_length=100, blank=True, default="", editable=False)
    size = models.PositiveBigIntegerField(null=True, blank=True, editable=False)
    digest = models.CharField(max_length=64, blank=True, default="", editable=False)
    read_as = models.CharField(max_length=64, blank=True, default="", editable=False)
    fetched_at = models.DateTimeField(null=True, blank=True, editable=False)
    changed_at = models.DateTimeField(null=True, blank=True, editable=False)
    away_since = models.DateTimeField(null=True, blank=True, editable=False)  # once reported
    problem = SentenceField(blank=True, default="", editable=False)
    files_waiting = models.PositiveIntegerField(default=0, editable=False)  # at the last fetch
    # When the address, the deliveries or the sender were last set. The first import after that
    # waits for a person.
    set_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        verbose_name = _("feed source")
        verbose_name_plural = _("feed sources")
        constraints = [
            no_half_lease("source"),
            models.CheckConstraint(
                condition=Q(every_minutes__isnull=True) ^ Q(daily_at__isnull=True),
                name="source_has_one_schedule",
            ),
            models.CheckConstraint(
                condition=Q(sign_in__in=SignIn.values), name="source_signs_in_in_a_known_way"
            ),
            models.CheckConstraint(
                condition=Q(delivery__in=Delivery.values), name="source_has_known_deliveries"
            ),
            models.CheckConstraint(
                condition=Q(is_enabled=False) | Q(due_at__isnull=False),
                name="source_on_a_schedule_is_due",
            ),
        ]
        indexes = [due_index("source")]

    def __str__(self) -> str:
        return gettext("source %(number)s") % {"number": self.pk}

    @property
    def is_wanted(self) -> bool:
        """The same as `WANTED`."""
        return self.fetches or self.skips_before is not None

    @property
    def fetches(self) -> bool:
        """Whether a file may be fetched, and not only be skipped."""
        return self.is_enabled or self.is_asked or self.goes_on


class FetchOutcome(models.TextChoices):
    """The outcome of a fetch."""

    UNCHANGED = "UNCHANGED", _("Nothing new")
    IMPORT = "IMPORT", pgettext_lazy("feed", "New")
    WAITS = "WAITS", _("Still uploaded")
    FAILED = "FAILED", _("Did not come")
    REFUSED = "REFUSED", pgettext_lazy("feed", "Refused")
    AWAY = "AWAY", _("Stays away")


class Fetch(DueModel):
    """One fetch from a source; due while a mail about it must be sent."""

    Outcome = FetchOutcome

    workspace = models.ForeignKey("crm_sync.Workspace", on_delete=models.PROTECT)
    source = models.ForeignKey(Source, on_delete=models.CASCADE)
    at = models.DateTimeField(default=timezone.now)
    outcome = models.CharField(max_length=10, choices=FetchOutcome)
    text = SentenceField(blank=True, default="", help_text="What happened, in words")
    name = models.CharField(max_length=255, blank=True, default="", help_text="Of the file")
    size = models.PositiveBigIntegerField(null=True, blank=True, help_text="Bytes that came")
    seconds = models.FloatField(default=0.0)
    # The first few files beside the feed that are no feeds, and the number of all such files.
    beside = models.JSONField(default=list, blank=True)
    beside_count = models.PositiveIntegerField(default=0)
    imported = models.ForeignKey(
        "properties.Import", null=True, blank=True, on_delete=models.SET_NULL
    )
    told_at = models.DateTimeField(null=True, blank=True)
    # The Message-IDs of those that went, until those for the other addresses have gone too.
    mails_sent = models.JSONField(default=list, blank=True)
    problem = SentenceField(blank=True, default="", help_text="Why a mail did not go")

    class Meta:
        verbose_name_plural = "fetches"
        constraints = [
            no_half_lease("fetch"),
            models.CheckConstraint(
                condition=Q(outcome__in=FetchOutcome.values), name="fetch_has_a_known_outcome"
            ),
        ]
        indexes = [
            due_index("fetch"),
            models.Index(fields=["source", "-at"], name="fetch_history"),
        ]

    def __str__(self) -> str:
        return f"fetch {self.pk}"
