"""The tokens of the API: an operator creates one, sees it once, and revokes it (S5, S17)."""

from datetime import datetime, timedelta
from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.models import ADDITION
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy as _, ngettext, pgettext

from crm_sync import hooks
from crm_sync.account_names import name_by
from crm_sync.admin.ui import own_password
from crm_sync.admin.ui.base import (
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
    action,
    once_more_if_taken,
)
from crm_sync.admin.ui.cells import EMPTY, badge, exact_moment, moment, two_lines
from crm_sync.admin.ui.columns import column, moment_column
from crm_sync.admin.ui.filters import WorkspaceFilter
from crm_sync.admin.ui.page import page, secret_page
from crm_sync.admin.ui.readonly import Empty, ReadOnlyAdmin
from crm_sync.admin.ui.scope import note, offer_workspaces
from crm_sync.api import tokens
from crm_sync.models import ApiToken, Workspace
from crm_sync.sentence import sentence
from crm_sync.translated import Text, number

USUAL_LIFE = timedelta(days=365)


class TokenForm(forms.Form):
    """The program that gets a token, its scopes, and the last day."""

    workspace = forms.ModelChoiceField(
        Workspace.objects.none(), label=_("Workspace"), widget=UnfoldAdminSelectWidget
    )
    name = forms.CharField(
        label=_("Name"),
        max_length=100,
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
        help_text=_(
            "The program that uses it. The history shows this name with each of its changes."
        ),
    )
    valid_until = forms.DateField(
        label=_("Valid until"),
        required=False,
        initial=lambda: timezone.localdate() + USUAL_LIFE,
        widget=UnfoldAdminTextInputWidget(attrs={"type": "date"}),
        help_text=_(
            "Its last day. Without one it is valid until somebody revokes it. It also ends when"
            " your account is disabled."
        ),
    )

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.request = request
        offer_workspaces(request.user, self.fields["workspace"])
        for scope in hooks.plugged().api_scopes:
            self.fields[scope.name] = forms.BooleanField(
                label=gettext("It may: %(what)s") % {"what": scope.meaning},
                required=False,
                widget=UnfoldBooleanWidget,
            )
        own_password.ask(self, request)

    @property
    def scopes(self) -> list[str]:
        """The scopes that were ticked."""
        every = (one.name for one in hooks.plugged().api_scopes)
        return [name for name in every if self.cleaned_data.get(name)]

    def clean(self) -> dict[str, Any]:
        """Refuse a token without a scope, and a name that another token has."""
        cleaned = super().clean() or {}
        if not self.scopes:
            self.add_error(None, gettext("Choose what the program may do."))
        same = ApiToken.objects.filter(
            workspace=cleaned.get("workspace"), name=cleaned.get("name", "")
        )
        if same.exists():
            self.add_error("name", gettext("A token of this workspace has this name already."))
        own_password.check(self, self.request)
        return cleaned

    def clean_valid_until(self) -> datetime | None:
        """Return the end of that day."""
        day = self.cleaned_data["valid_until"]
        if day is None:
            return None
        end = datetime.combine(day, datetime.max.time(), timezone.get_current_timezone())
        if end < timezone.now():
            raise forms.ValidationError(gettext("This day is in the past."))
        return end


def state(token: ApiToken, now: datetime) -> SafeString:
    """Show whether a program can use the token."""
    if token.revoked_at is not None:
        return badge(gettext("Revoked"))
    if token.is_valid(now):
        return badge(gettext("Valid"), "good")
    has_maker = token.created_by is None or token.created_by.is_active
    return badge(gettext("Expired") if has_maker else gettext("Account disabled"), "warning")


def meanings(token: ApiToken) -> list[Text]:
    """Return the meaning of each scope of a token."""
    known = {one.name: one.meaning for one in hooks.plugged().api_scopes}
    return [known.get(name, name) for name in token.scopes]


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnlyAdmin):
    """The API tokens. No token is shown twice, and none is deleted."""

    empty = Empty(
        _("No program has a token"),
        _(
            "A token lets a program read and change properties and orders of one workspace through"
            " the API. Create one here."
        ),
    )
    change_form_template = "crm_sync/api_token.html"
    list_display = ("name_", "state_", "may", "used", "valid", "created")
    list_filter = (WorkspaceFilter,)
    search_fields = ("name", "prefix")
    search_help_text = _("Name, or the beginning of the token")
    ordering = ("-pk",)
    annotations = {"maker": name_by("created_by")}
    actions = ("revoke",)

    name_ = column(
        _("program"),
        lambda row: two_lines(row.name, gettext("Begins with %(text)s") % {"text": row.prefix}),
        "name",
    )
    state_ = column(_("state"), lambda row: state(row, timezone.now()))
    may = column(_("scopes"), lambda row: ", ".join(row.scopes))
    used = moment_column(_("last used"), "last_used_at")
    valid = moment_column(_("valid until"), "expires_at")
    created = column(
        _("created"),
        lambda row: two_lines(moment(row.created_at, timezone.now()), row.maker),
        "pk",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiToken]:
        """Do not load the digest."""
        rows = super().get_queryset(request).select_related("created_by")
        return rows.defer("token_digest", "created_by__password")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Allow operators to create tokens."""
        return request.user.has_perm("crm_sync.add_apitoken")

    @once_more_if_taken
    def add_view(
        self,
        request: HttpRequest,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Create a token and show it once (POST)."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        person = cast("User", request.user)
        form = TokenForm(request.POST or None, request=request)
        context = {"title": gettext("New API token"), "form": form, "back": self._list()}
        if request.method == "POST" and form.is_valid():
            given = form.cleaned_data
            row, token = tokens.issue(
                given["workspace"],
                name=given["name"],
                scopes=form.scopes,
                expires_at=given["valid_until"],
                created_by=person,
                now=timezone.now(),
            )
            rows = ApiToken.objects.filter(pk=row.pk)
            text = sentence("Created with %(scopes)s.", scopes=row.scopes)
            note(request, rows, text, ADDITION)
            copy_it = gettext(
                "Copy it into the settings of the program, which sends it with each call as"
                " %(header)s Anyone who has it can do what you ticked until you revoke it."
            )
            return secret_page(
                self,
                request,
                title=gettext("The token of %(name)s") % {"name": row.name},
                text=copy_it % {"header": f"Authorization: Bearer {token[:4]}…"},
                secret=token,
                back=self._list(),
            )
        return page(self, request, "crm_sync/new_api_token.html", context)

    @action(description=_("Revoke"), permissions=["act"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiToken]) -> None:
        """Revoke the tokens (POST only)."""
        rows = ApiToken.objects.filter(pk__in=[row.pk for row in queryset], revoked_at=None)
        self.note(request, rows, sentence("Revoked."))
        count = tokens.revoke(rows, now=timezone.now())
        if count:
            text = ngettext(
                "%(count)s token was revoked. Its program is refused from now on.",
                "%(count)s tokens were revoked. Their programs are refused from now on.",
                count,
            )
            messages.success(request, text % {"count": number(count)})
        else:
            messages.warning(request, gettext("All of them were revoked before."))

    def page_context(self, request: HttpRequest, token: Any) -> dict[str, Any]:
        now = timezone.now()
        return {
            "badge": state(token, now),
            "may": meanings(token),
            "facts": [
                (gettext("Workspace"), token.workspace_slug),
                (gettext("Begins with"), f"{token.prefix}…"),
                (gettext("Last used"), exact_moment(token.last_used_at, now)),
                (gettext("Valid until"), exact_moment(token.expires_at, now)),
                (gettext("Revoked"), exact_moment(token.revoked_at, now)),
                (pgettext("moment", "Created"), exact_moment(token.created_at, now)),
                (gettext("Created by"), token.maker or EMPTY),
            ],
            "can_act": token.revoked_at is None and self.has_act_permission(request),
        }

    def _list(self) -> str:
        return reverse("admin:crm_sync_apitoken_changelist")
