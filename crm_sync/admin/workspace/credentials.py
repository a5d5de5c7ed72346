"""Pages that connect a workspace or change its credentials, which are never shown (S5).

No stored credential is sent to a browser. A person who changes the address has to enter the
credentials again, so that no stored token can be sent to another address.
"""

from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin.models import ADDITION, CHANGE
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy as _
from django.views.decorators.debug import sensitive_post_parameters

from crm_sync import connecting
from crm_sync.admin.ui import own_password
from crm_sync.admin.ui.base import (
    ModelAdmin,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
    once_more_if_taken,
)
from crm_sync.admin.ui.cells import exact, page_of
from crm_sync.admin.ui.own_password import SecretField
from crm_sync.admin.ui.page import page
from crm_sync.admin.ui.scope import note
from crm_sync.admin.workspace.tabs import address_of, tabs
from crm_sync.connecting import Given
from crm_sync.models import Workspace, hold
from crm_sync.platform import addresses, clock
from crm_sync.platform.errors import SyncError
from crm_sync.platform.problems import explain
from crm_sync.secrets import SecretUnreadable
from crm_sync.sentence import said, sentence
from crm_sync.text import capitalized

DEADLINE = 8.0  # seconds: a person waits for the page
WITHOUT_CHECK = _("Save it without asking the platform")


class CredentialsForm(forms.Form):
    """The address of the platform, and either a token, or a client id with its secret (A6)."""

    slug = forms.CharField(
        label=_("Name"),
        max_length=50,
        widget=UnfoldAdminTextInputWidget,
        help_text=_("Letters, digits, hyphens and underscores. It cannot be changed later."),
    )
    base_url = forms.CharField(
        label=_("Base address of the platform"), max_length=500, widget=UnfoldAdminTextInputWidget
    )
    token = SecretField(label=_("Fixed token"), help_text=_("Or a client id and its secret."))
    client_id = forms.CharField(
        label=_("Client id"),
        required=False,
        max_length=255,
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
        help_text=_("Instead of a fixed token."),
    )
    secret = SecretField(label=_("Client secret"), help_text=_("That of the client id."))
    unchecked = forms.BooleanField(label=WITHOUT_CHECK, required=False, widget=UnfoldBooleanWidget)

    def __init__(
        self, *args: Any, known: Workspace | None, request: HttpRequest, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.known, self.request = known, request
        if known is not None:
            del self.fields["slug"]
        own_password.ask(self, request)

    def clean_slug(self) -> str:
        """Reject an invalid slug, or the slug of another workspace."""
        slug: str = self.cleaned_data["slug"]
        if fault := connecting.slug_fault(slug):
            raise forms.ValidationError(f"{capitalized(fault.said())}.")
        if Workspace.objects.filter(slug=slug).exists():
            text = gettext("There is a workspace of this name already.")
            raise forms.ValidationError(text)
        return slug

    def clean_base_url(self) -> str:
        """Reject an address to which credentials must not be sent."""
        base_url: str = self.cleaned_data["base_url"].rstrip("/")
        if fault := addresses.fault(base_url):
            raise forms.ValidationError(f"{capitalized(fault.said())}.")
        return base_url

    def clean(self) -> dict[str, Any]:
        """Require exactly one of the two kinds of credentials, complete."""
        cleaned = super().clean() or {}
        by_client = bool(cleaned.get("client_id")), bool(cleaned.get("secret"))
        if bool(cleaned.get("token")) == any(by_client) or any(by_client) != all(by_client):
            text = gettext("Enter either the fixed token, or the client id with its secret.")
            raise forms.ValidationError(text)
        own_password.check(self, self.request)
        return cleaned

    def given(self) -> Given:
        """Return the entered values of a valid form."""
        one = self.cleaned_data
        slug = self.known.slug if self.known else one["slug"]
        return Given(slug, one["base_url"], one["token"], one["client_id"], one["secret"])


def credentials_page(
    admin: ModelAdmin, request: HttpRequest, workspace_id: int | None = None
) -> HttpResponse:
    """Connect a workspace, or change or test the credentials of one (POST)."""
    view = sensitive_post_parameters("token", "secret", "password")(partial(_page, admin))
    response: HttpResponse = view(request, workspace_id)
    return response


@once_more_if_taken
def _page(admin: ModelAdmin, request: HttpRequest, workspace_id: int | None) -> HttpResponse:
    known = None
    if workspace_id is not None:
        known = admin.get_queryset(request).filter(pk=workspace_id).first()
        if known is None:
            raise Http404
    may = admin.has_change_permission if known else admin.has_add_permission
    if not may(request):
        raise PermissionDenied
    if known and request.POST.get("step") == "test":
        _test(request, known.pk)
        return HttpResponseRedirect(request.path)
    initial = {"base_url": known.base_url} if known else {}
    form = CredentialsForm(request.POST or None, known=known, request=request, initial=initial)
    if request.method == "POST" and form.is_valid() and _is_taken(request, form):
        return HttpResponseRedirect(_saved(request, form.given()))
    context = {
        "title": gettext("Credentials of %(workspace)s") % {"workspace": known.slug}
        if known
        else gettext("Connect a workspace"),
        "form": form,
        "known": known,
        "stored": _stored(known),
        "back": page_of(known) or reverse("admin:crm_sync_workspace_changelist"),
    }
    if known:
        context |= tabs(admin, request, known.pk)
    return page(admin, request, "crm_sync/workspace/credentials.html", context, row=known)


def _stored(known: Any) -> str:
    if known is None or not (known.has_fixed_token or known.has_client_secret):
        return ""
    named = {"client": known.client_id}
    if known.credentials_at is None:
        if known.has_fixed_token:
            return gettext("A fixed token is stored.")
        return gettext("The secret of client %(client)s is stored.") % named
    named["since"] = exact(known.credentials_at)
    if known.has_fixed_token:
        return gettext("A fixed token is stored since %(since)s.") % named
    return gettext("The secret of client %(client)s is stored since %(since)s.") % named


def _is_taken(request: HttpRequest, form: CredentialsForm) -> bool:
    """Return whether the platform accepts the credentials. If not, the form shows the reason."""
    if form.cleaned_data["unchecked"]:
        return True
    try:
        connecting.try_out(form.given(), deadline=DEADLINE)
    except SyncError as error:
        nothing = gettext("Nothing was saved.")
        form.add_error(None, f"{explain(error).sentence} {nothing}")
        return False
    return True


def _saved(request: HttpRequest, given: Given) -> str:
    """Store the credentials, log who did it without any value, and return the next address."""
    now = timezone.now()
    workspace, is_new = connecting.store(given, now=now, actor=request.user)  # type: ignore[arg-type]
    text = sentence(
        "Credentials: %(kind)s, at %(address)s.", kind=given.kind, address=given.base_url
    )
    rows = Workspace.objects.filter(pk=workspace.pk).only("pk", "slug")
    note(request, rows, text, ADDITION if is_new else CHANGE)
    done = gettext("Connected.") if is_new else gettext("The new credentials are stored.")
    messages.success(request, done)
    if hold.is_watched(workspace.pk, now):
        messages.info(
            request, gettext("It is in watch only: nothing is sent before you say go, here.")
        )
        return address_of("pause", workspace.pk)
    return page_of(workspace)


def _test(request: HttpRequest, workspace_id: int) -> None:
    """Read one user with the stored credentials, and show the result as a message."""
    try:
        workspace = Workspace.objects.get(pk=workspace_id)
        with workspace.calling(deadline=DEADLINE, by_hand=True) as client:
            next(client.users(size=1), None)
    except SecretUnreadable as error:
        messages.error(request, said(error))
    except SyncError as error:
        messages.error(request, explain(error).sentence)
    else:
        difference = clock.difference(workspace.clock_ahead) if workspace.clock_ahead else ""
        if difference:
            text = gettext("The platform answers, but its clock is %(difference)s.")
            messages.warning(request, text % {"difference": difference})
        else:
            text = gettext("The platform answers, and accepts the credentials.")
            messages.success(request, text)
