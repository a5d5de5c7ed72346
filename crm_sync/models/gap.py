"""An interval in which events may be unknown."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy as _

from crm_sync.translated import day_in_words, second_in_words


class Gap(models.Model):
    """A gap, written after all open orders were made due for a read. A person acknowledges it."""

    class Why(models.TextChoices):
        """Why events may have been lost."""

        OVERFLOW = "OVERFLOW", _("More attempts than the history keeps")
        ERASED = "ERASED", _("The history was erased")
        UNEXPLAINED = "UNEXPLAINED", _("An attempt that nothing shows")
        UNREADABLE = "UNREADABLE", _("A record without its payload")

    workspace = models.ForeignKey("crm_sync.Workspace", on_delete=models.PROTECT)
    why = models.CharField(max_length=12, choices=Why)
    began_at = models.DateTimeField(
        null=True, blank=True, help_text="By the platform's clock; none: since it was connected"
    )
    ended_at = models.DateTimeField(help_text="By the platform's clock")
    noticed_at = models.DateTimeField()
    asked = models.PositiveIntegerField(default=0, help_text="Open orders made due for a read")
    acknowledged_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [
            # The dashboard counts and lists the gaps that are not acknowledged.
            models.Index(
                fields=["noticed_at"],
                name="gap_unseen",
                condition=models.Q(acknowledged_at__isnull=True),
            )
        ]

    def __str__(self) -> str:
        return f"gap {self.pk}"

    @property
    def interval(self) -> str:
        """The beginning and the end, in the time zone of the person who reads it."""
        end = timezone.localtime(self.ended_at)
        if self.began_at is None:
            return gettext("until %(end)s") % {"end": second_in_words(end)}
        began = timezone.localtime(self.began_at)
        is_same_day = began.date() == end.date()
        until = f"{end:%H:%M:%S %Z}" if is_same_day else second_in_words(end)
        named = {"day": day_in_words(began), "time": f"{began:%H:%M:%S}", "end": until}
        return gettext("%(day)s, %(time)s to %(end)s") % named
