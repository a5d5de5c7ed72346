"""Users and groups in the admin's look; without this they stand there unstyled."""

from http import HTTPStatus
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import FilteredSelectMultiple
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group, User
from django.http import HttpRequest, HttpResponse

from crm_sync.admin.ui.base import (
    AdminPasswordChangeForm,
    ModelAdmin,
    UserChangeForm,
    UserCreationForm,
)
from crm_sync.admin.ui.scope import note
from crm_sync.models import Workspace

admin.site.unregister(User)
admin.site.unregister(Group)


class PersonForm(UserChangeForm):  # type: ignore[misc]
    """What Django has, and the workspaces that the person sees."""

    workspaces = forms.ModelMultipleChoiceField(
        Workspace.objects.only("pk", "slug").order_by("slug"),  # no secret (S5)
        required=False,
        widget=FilteredSelectMultiple("workspaces", is_stacked=False),
        help_text="Agents and those who may only look see these. Operators and superusers see all.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        mine = self.instance.workspaces.values_list("pk", flat=True)
        self.initial["workspaces"] = list(mine)


@admin.register(User)
class UserAdmin(DjangoUserAdmin, ModelAdmin):  # type: ignore[type-arg]
    """Who may sign in, what they may do, and in which workspaces."""

    form = PersonForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    fieldsets = (
        *(DjangoUserAdmin.fieldsets or ()),
        ("Workspaces", {"fields": ("workspaces",)}),
    )

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Write the workspaces, where this form had them."""
        super().save_related(request, form, formsets, change)
        if "workspaces" in form.changed_data:
            form.instance.workspaces.set(form.cleaned_data["workspaces"])


def password_change(
    request: HttpRequest, extra_context: dict[str, Any] | None = None
) -> HttpResponse:
    """Change one's own password, and write that to the history of the account (S17)."""
    answer = _password_change(request, extra_context)
    if answer.status_code == HTTPStatus.FOUND:
        note(
            request, User.objects.filter(pk=int(request.user.pk or 0)), "Changed the own password."
        )
    return answer


_password_change = admin.site.password_change


@admin.register(Group)
class GroupAdmin(DjangoGroupAdmin, ModelAdmin):
    """Permissions that several users share."""
