"""The calls to the platform: single ones for operators, and counts for the metrics."""

from datetime import UTC, datetime

from django.db import models
from django.utils.translation import gettext_lazy as _

from crm_sync.models.problem import ProblemField
from crm_sync.platform.exchange import Result

TOTAL = datetime(1970, 1, 1, tzinfo=UTC)  # the hour of the rows that count for ever


class CallResult(models.TextChoices):
    """The result of a call, with the values of `exchange.Result`."""

    OK = Result.OK, _("Answered")
    NOT_FOUND = Result.NOT_FOUND, _("Not there")
    REFUSED = Result.REFUSED, _("Refused")
    AUTH = Result.AUTH, _("Not allowed")
    BUSY = Result.BUSY, _("Busy")
    FAILED = Result.FAILED, _("Failed")
    NO_ANSWER = Result.NO_ANSWER, _("No answer")


class PlatformCall(models.Model):
    """One call, masked and cut, kept for `KEEP_DAYS` (S23)."""

    Result = CallResult

    workspace = models.ForeignKey("crm_sync.Workspace", on_delete=models.CASCADE, db_index=False)
    at = models.DateTimeField(_("when"))
    method = models.CharField(max_length=10)
    address = models.TextField(help_text=_("Path and query"))
    result = models.CharField(_("result"), max_length=12, choices=CallResult)
    status = models.PositiveSmallIntegerField(null=True, blank=True)
    milliseconds = models.PositiveIntegerField()
    about = models.CharField(max_length=100, blank=True, default="", help_text=_("Model and key"))
    attempt = models.PositiveIntegerField(default=0)
    request_id = models.CharField(_("id in the log"), max_length=64, blank=True, default="")
    problem = ProblemField(blank=True, default="")
    sent = models.TextField(blank=True, default="")
    answer = models.TextField(blank=True, default="")

    class Meta:
        verbose_name = _("call to the platform")
        verbose_name_plural = _("calls to the platform")
        indexes = [
            models.Index(fields=["at"], name="platform_call_at"),
            models.Index(fields=["result", "at"], name="platform_call_result"),
            models.Index(
                fields=["about", "at"], name="platform_call_about", condition=~models.Q(about="")
            ),
            models.Index(fields=["request_id"], name="platform_call_request"),
        ]

    def __str__(self) -> str:
        return f"{self.method} {self.address[:80]}"


class CallCount(models.Model):
    """The number of calls of a workspace with a result in an hour; the hour `TOTAL` is all time."""

    workspace = models.ForeignKey("crm_sync.Workspace", on_delete=models.CASCADE, db_index=False)
    hour = models.DateTimeField()
    result = models.CharField(max_length=12, choices=CallResult)
    count = models.PositiveBigIntegerField()
    milliseconds = models.PositiveBigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["hour", "workspace", "result"], name="one_call_count_an_hour"
            )
        ]

    def __str__(self) -> str:
        return f"{self.count} {self.result}"
