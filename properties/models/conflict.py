"""The conflicts: fields that both sides changed, with all three values and the decision."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy as _, pgettext_lazy

from crm_sync.account_names import name_of
from crm_sync.sentence import sentence
from crm_sync.translated import Text
from properties.merge import Owner
from properties.models.change import Origin

BOTH_CHANGED = sentence("Both sides changed it. Decide whose value stands")
RULES: dict[str, Text] = {
    Owner.OURS.value: _("The rule that we own it"),
    Owner.THEIRS.value: _("The rule that the platform owns it"),
    Owner.FILL.value: _("The rule to fill it if empty"),
    Owner.NEVER.value: _("The rule never to send it"),
}


class Conflict(models.Model):
    """One conflict. Only the removal of a duplicate mirror deletes it (I4)."""

    class Decision(models.TextChoices):
        """Whose value is used."""

        OPEN = "", pgettext_lazy("conflict", "Open")
        OURS = "OURS", _("Ours")
        THEIRS = "THEIRS", _("Theirs")
        BOTH = "BOTH", _("From both")  # some members are ours, some theirs
        AGREED = "AGREED", _("Both agree")  # one side took the value of the other

    real_estate_property = models.ForeignKey("properties.Property", on_delete=models.CASCADE)
    path = models.CharField(_("field"), max_length=300)
    ours = models.JSONField(null=True)
    base = models.JSONField(null=True)
    theirs = models.JSONField(null=True)
    decision = models.CharField(
        _("decision"), max_length=6, choices=Decision, default=Decision.OPEN, blank=True
    )
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    # The cause of its end, if it was an edit of the field or a read in which both sides agree.
    origin = models.CharField(
        max_length=10, choices=Origin, blank=True, default="", db_default="", editable=False
    )
    # The owner that a rule of the workspace names, if it decided (docs/ownership.md).
    rule = models.CharField(max_length=10, blank=True, default="", db_default="", editable=False)
    decided_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name = _("conflict")
        verbose_name_plural = _("conflicts")
        constraints = [
            models.UniqueConstraint(
                fields=["real_estate_property", "path"],
                condition=Q(decision=""),
                name="one_open_conflict_per_field",
            )
        ]

    def __str__(self) -> str:
        named = {"field": self.path, "key": self.real_estate_property_id}
        return gettext("%(field)s of property %(key)s") % named

    @property
    def who(self) -> str:
        """Who ended it: a person, a rule, else the side or the program; "" for a policy."""
        if self.rule:
            return str(RULES.get(self.rule) or gettext("A rule"))
        return name_of(self.decided_by) if self.decided_by else str(self.get_origin_display())
