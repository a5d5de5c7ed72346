"""What the list of the platform's users can be narrowed to."""

from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest

from crm_sync.access import within
from crm_sync.admin.ui.base import DropdownFilter
from orders.models import PlatformUser

MOST = 100  # languages or countries to choose from


class GoneFilter(DropdownFilter):
    """Who is there, and who is gone."""

    title = "on the platform"
    parameter_name = "gone"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("no", "There"), ("yes", "Gone")]

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[PlatformUser]
    ) -> QuerySet[PlatformUser]:
        chosen = self.value()
        return queryset.filter(gone_at__isnull=chosen == "no") if chosen else queryset


class AccountFilter(DropdownFilter):
    """By the account, and by how it was chosen."""

    title = "account"
    parameter_name = "account"
    conditions = {
        "none": ("Without an account", Q(account=None)),
        "email": ("By e-mail", Q(account__isnull=False, is_tied_by_hand=False)),
        "hand": ("Chosen here", Q(is_tied_by_hand=True)),
    }

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, title) for name, (title, _) in self.conditions.items()]

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[PlatformUser]
    ) -> QuerySet[PlatformUser]:
        found = self.conditions.get(self.value() or "")
        return queryset.filter(found[1]) if found else queryset


class _ValueFilter(DropdownFilter):
    """By a column whose values the platform makes; those that there are can be chosen."""

    parameter_name: str

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        name = self.parameter_name
        mine = within(request.user, PlatformUser.objects.all())
        there = mine.exclude(**{name: ""}).order_by(name)
        return [(one, one) for one in there.values_list(name, flat=True).distinct()[:MOST]]

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[PlatformUser]
    ) -> QuerySet[PlatformUser]:
        chosen = self.value()
        return queryset.filter(**{self.parameter_name: chosen}) if chosen else queryset


class LanguageFilter(_ValueFilter):
    """By language."""

    title = parameter_name = "language"


class CountryFilter(_ValueFilter):
    """By country."""

    title = parameter_name = "country"
