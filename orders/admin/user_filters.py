"""Filters for the list of platform users."""

from typing import Any

from django.db.models import Q
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from crm_sync.admin.ui.filters import ConditionFilter, ValueFilter
from crm_sync.security.access import within
from orders.models import PlatformUser

MOST = 100  # languages or countries to choose from


class GoneFilter(ConditionFilter):
    """By whether the user is still on the platform."""

    title = _("on the platform")
    parameter_name = "gone"
    conditions = {"no": (_("There"), Q(gone_at=None)), "yes": (_("Gone"), ~Q(gone_at=None))}


class AccountFilter(ConditionFilter):
    """By the account, and by how it was chosen."""

    title = _("account")
    parameter_name = "account"
    conditions = {
        "none": (_("Without an account"), Q(account=None)),
        "email": (_("By e-mail"), Q(account__isnull=False, is_tied_by_hand=False)),
        "hand": (_("Chosen here"), Q(is_tied_by_hand=True)),
    }


class _PlatformValueFilter(ValueFilter):
    """By a column that the platform fills. The choices are the values in use."""

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        mine = within(request.user, PlatformUser.objects.all())
        there = mine.exclude(**{self.column: ""}).order_by(self.column)
        return [(one, one) for one in there.values_list(self.column, flat=True).distinct()[:MOST]]


class LanguageFilter(_PlatformValueFilter):
    """By language."""

    title = _("language")
    parameter_name = column = "language"


class CountryFilter(_PlatformValueFilter):
    """By country."""

    title = _("country")
    parameter_name = column = "country"
