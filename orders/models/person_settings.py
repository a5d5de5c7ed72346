"""The choices of a person, and the time until which news was mailed to them."""

from zoneinfo import ZoneInfo

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy as _

from crm_sync.models.alarm import AlarmKind
from crm_sync.models.due import DueModel, no_half_lease
from crm_sync.models.problem import SentenceField
from orders.models.news import News

OFF = models.Q(
    on_uncertain=False,
    on_action=False,
    on_cancelled=False,
    on_scheduled=False,
    on_delivered=False,
)


class PersonSettings(DueModel):
    """One row per person. Without it they get no mail and see the times of the installation.

    `due_at` is the earliest moment of the next mail. `told_until` is the watermark: everything that
    we learned until then was mailed, or not wanted.
    """

    person = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="person_settings"
    )
    time_zone = models.CharField(_("time zone"), max_length=63, blank=True, default="")
    language = models.CharField(max_length=15, blank=True, default="")
    # The zone of the browser was proposed, and the person has taken or dismissed it.
    zone_answered = models.BooleanField(default=False, editable=False)
    on_uncertain = models.BooleanField(
        _("an order or a change is uncertain"),
        default=False,
        help_text=_("No clear answer came. Look on the platform before you send it again."),
    )
    on_action = models.BooleanField(
        _("an order needs action"),
        default=False,
        help_text=_("The platform waits for something."),
    )
    on_cancelled = models.BooleanField(_("an order is cancelled"), default=False)
    on_scheduled = models.BooleanField(
        _("an appointment is set or moved"),
        default=False,
        help_text=_(
            "With a file for your calendar. Choose cancelled orders too, so that it also removes"
            " what is cancelled."
        ),
    )
    on_delivered = models.BooleanField(_("something is delivered"), default=False)
    alarm_workspace_paused = models.BooleanField(AlarmKind.WORKSPACE_PAUSED.label, default=False)
    alarm_source_away = models.BooleanField(AlarmKind.SOURCE_AWAY.label, default=False)
    alarm_receiver_failing = models.BooleanField(AlarmKind.RECEIVER_FAILING.label, default=False)
    alarm_no_worker = models.BooleanField(AlarmKind.NO_WORKER.label, default=False)
    only_mine = models.BooleanField(
        _("only my orders"),
        default=True,
        help_text="Those that you placed or confirmed here, or that a platform user who is tied to"
        " your account ordered. Else all that you may see.",
    )
    told_until = models.DateTimeField(null=True, editable=False)
    # Written before a mail is sent: if the worker then dies, this shows what the mail was about.
    telling_until = models.DateTimeField(null=True, editable=False)
    mailed_at = models.DateTimeField("last mail", null=True, editable=False)
    problem = SentenceField(blank=True, default="", editable=False)
    seen_until = models.DateTimeField(
        null=True, editable=False, help_text="What the overview has shown until then is no news"
    )

    class Meta:
        verbose_name = _("personal settings")
        verbose_name_plural = _("personal settings")
        constraints = [
            no_half_lease("person_settings"),
            models.CheckConstraint(
                condition=OFF & models.Q(due_at__isnull=True, told_until__isnull=True)
                | ~OFF & models.Q(due_at__isnull=False, told_until__isnull=False),
                name="who_wants_mail_is_due_and_nobody_else",
            ),
        ]
        indexes = [
            models.Index(
                fields=["due_at"],
                name="person_settings_due",
                condition=models.Q(due_at__isnull=False),
            )
        ]

    def __str__(self) -> str:
        return gettext("settings of person %(key)s") % {"key": self.person_id}

    @property
    def kinds(self) -> list[News]:
        """The news that the person wants by mail, the most urgent first."""
        return [kind for kind in News if getattr(self, switch_of(kind))]

    @property
    def zone(self) -> ZoneInfo:
        """The time zone of the person, or that of the installation if they chose none."""
        try:
            return ZoneInfo(self.time_zone or settings.TIME_ZONE)
        except (KeyError, OSError, ValueError):  # a zone that this machine no longer knows
            return ZoneInfo(timezone.get_default_timezone_name())


def alarm_switch_of(kind: str) -> str:
    """Return the name of the column that switches mail about this kind of alarm on."""
    return f"alarm_{kind}"


def switch_of(kind: News) -> str:
    """Return the name of the column that switches mail about this news on."""
    return f"on_{kind.lower()}"
