"""The reminders of appointments: who wants them and when, and which were sent."""

from django.conf import settings
from django.core.validators import MaxValueValidator
from django.db import models
from django.utils.translation import gettext

from crm_sync.models.due import DueModel, no_half_lease
from crm_sync.models.problem import SentenceField

USUAL_HOUR = 17


class ReminderSettings(DueModel):
    """One row for a person who has chosen. It is due when their appointments are looked at next.

    `due_at` is None if they want no reminders.
    """

    person = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="reminder_settings"
    )
    hour = models.PositiveSmallIntegerField(
        default=USUAL_HOUR,
        validators=[MaxValueValidator(23)],
        help_text="Of the day before, in the time zone of the person",
    )
    mailed_at = models.DateTimeField(null=True, editable=False)
    problem = SentenceField(blank=True, default="", editable=False)

    class Meta:
        constraints = [
            no_half_lease("reminder_settings"),
            models.CheckConstraint(
                condition=models.Q(hour__lte=23), name="reminder_has_an_hour_of_the_day"
            ),
        ]
        indexes = [
            models.Index(
                fields=["due_at"],
                name="reminder_settings_due",
                condition=models.Q(due_at__isnull=False),
            )
        ]

    def __str__(self) -> str:
        return gettext("reminders of person %(key)s") % {"key": self.person_id}


class Reminder(models.Model):
    """A person was reminded of an appointment at this time. At another time they are again."""

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, db_index=False)
    assignment = models.ForeignKey("orders.Assignment", on_delete=models.CASCADE)
    at = models.DateTimeField(help_text="Of the appointment")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["person", "assignment", "at"], name="one_reminder_of_each_time"
            )
        ]
        indexes = [models.Index(fields=["at"], name="reminder_oldest")]

    def __str__(self) -> str:
        return f"reminder {self.pk}"
