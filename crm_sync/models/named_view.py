"""A list of the admin as one person wants to see it."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class NamedView(models.Model):
    """Filters, search and order of a list under a name, and the columns that it leaves out.

    The row without a name is the list itself: it has only columns.
    """

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    screen = models.CharField(max_length=100, help_text="The label of the model")
    name = models.CharField(max_length=60, blank=True, default="")
    query = models.JSONField(default=dict, help_text="As `kept_query.kept` returns it")
    hidden = models.JSONField(default=list, help_text="The names of columns")

    class Meta:
        verbose_name = _("view")
        verbose_name_plural = _("views")
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(
                fields=["person", "screen", "name"], name="one_view_per_name_and_list"
            )
        ]

    def __str__(self) -> str:
        return f"view {self.pk}"
