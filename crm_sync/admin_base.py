"""The one module that imports the admin's look (django-unfold), so that a move touches one file."""

from unfold.admin import ModelAdmin, StackedInline, TabularInline
from unfold.contrib.filters.admin import (
    AutocompleteSelectFilter,
    ChoicesDropdownFilter,
    DropdownFilter,
    RangeDateTimeFilter,
)
from unfold.decorators import action, display
from unfold.views import UnfoldModelAdminViewMixin

__all__ = [
    "AutocompleteSelectFilter",
    "ChoicesDropdownFilter",
    "DropdownFilter",
    "ModelAdmin",
    "RangeDateTimeFilter",
    "StackedInline",
    "TabularInline",
    "UnfoldModelAdminViewMixin",
    "action",
    "display",
]
