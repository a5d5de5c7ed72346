"""Inviting a person: one form makes the account, its rights and its tie to the platform (S17)."""

from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.models import ADDITION
from django.contrib.auth.models import Group, User
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy as _

from crm_sync.admin.accounts.users import AsksPassword, UserAdmin
from crm_sync.admin.ui import own_password
from crm_sync.admin.ui.base import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
    action,
    once_more_if_taken,
)
from crm_sync.admin.ui.cells import list_of, page_of
from crm_sync.admin.ui.page import page, secret_page, titled
from crm_sync.admin.ui.scope import note
from crm_sync.mail import MAIL_ERRORS, mails_are_sent
from crm_sync.models import Workspace
from crm_sync.security import access, login, password_links
from crm_sync.security.roles import stored_role
from crm_sync.sentence import sentence
from orders.models import PlatformUser
from orders.platform_users import user_mirror

INVITE = "admin:auth_user_invite"
GIVE = _(
    "Give this link to the person: whoever has it sets the password. It works once, within"
    " %(lasts)s."
)


class PlatformUserField(forms.ModelChoiceField):  # type: ignore[type-arg]
    """A user of the platform, with its workspace."""

    def label_from_instance(self, obj: Any) -> str:
        """Return the name for the list."""
        return f"{obj} ({obj.workspace_slug})"


class InvitationForm(AsksPassword, forms.Form):
    """Who is invited, what they may do, and who they are on the platform."""

    name = forms.CharField(label=_("Name"), max_length=150, widget=UnfoldAdminTextInputWidget)
    email = forms.EmailField(
        label=_("Mail address"),
        max_length=150,
        widget=UnfoldAdminTextInputWidget(attrs={"type": "email"}),
        help_text=_("The person logs in with it."),
    )
    group = forms.ModelChoiceField(
        Group.objects.order_by("name"),
        label=_("Role"),
        empty_label=_("Choose"),
        widget=UnfoldAdminSelectWidget,
    )
    workspaces = forms.ModelMultipleChoiceField(
        Workspace.objects.only("pk", "slug").order_by("slug"),  # no secret (S5)
        label=_("Workspaces"),
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text=_("Agents and those who may only look see these. Operators see all."),
    )
    platform_user = PlatformUserField(
        PlatformUser.objects.none(),
        label=_("Account on the platform"),
        required=False,
        empty_label=_("None yet"),
        widget=UnfoldAdminSelectWidget,
        help_text=_("The person orders in the name of this user."),
    )

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        self.request = request
        super().__init__(*args, **kwargs)
        free = PlatformUser.objects.filter(account=None, gone_at=None)
        of = cast("forms.ModelChoiceField[PlatformUser]", self.fields["platform_user"])
        of.queryset = free.annotate(workspace_slug=F("workspace__slug")).order_by("name", "pk")
        only = Workspace.objects.values_list("pk", flat=True)[:2]
        if len(only) == 1:
            self.fields["workspaces"].initial = list(only)

    def clean_email(self) -> str:
        """Refuse an address with an account."""
        email = str(self.cleaned_data["email"]).strip()
        if User.objects.filter(Q(username__iexact=email) | Q(email__iexact=email)).exists():
            raise ValidationError(_("There is an account with this address."))
        return email

    def clean(self) -> Any:
        """Require a workspace for a role that needs one, and the user of one of them."""
        cleaned = self.cleaned_data
        group, mine = cleaned.get("group"), cleaned.get("workspaces") or []
        tied: Any = cleaned.get("platform_user")
        if group is not None and not _sees_all(group):
            if not mine:
                self.add_error("workspaces", _("Choose at least one: this role sees no other."))
            elif tied is not None and tied.workspace_id not in {one.pk for one in mine}:
                text = gettext("This user is of %(workspace)s, which is not chosen above.")
                self.add_error("platform_user", text % {"workspace": tied.workspace_slug})
        return super().clean()

    @transaction.atomic
    def save(self) -> tuple[User, bool]:
        """Make the account. Return it, and whether the tie was made that was chosen.

        Raises:
            IntegrityError: another request made the same account.
        """
        cleaned = self.cleaned_data
        first, _, last = cleaned["name"].rpartition(" ")
        person = User(
            username=cleaned["email"],
            email=cleaned["email"],
            first_name=first or last,
            last_name=last if first else "",
            is_staff=True,
        )
        person.set_unusable_password()
        person.save(force_insert=True)
        person.groups.add(cleaned["group"])
        cast("Any", person).workspaces.set(cleaned["workspaces"])
        tied: PlatformUser | None = cleaned["platform_user"]
        return person, tied is None or user_mirror.tie_by_hand(tied, person.pk)


def _sees_all(group: Group) -> bool:
    app, _, codename = access.ALL.partition(".")
    return group.permissions.filter(content_type__app_label=app, codename=codename).exists()


admin.site.unregister(User)


@admin.register(User)
class InvitingUserAdmin(UserAdmin):
    """The people who may log in, with the form that invites one."""

    actions_list = ("start",)
    actions = ("send_link",)

    def has_invite_permission(self, request: HttpRequest) -> bool:
        """Return whether this person may make accounts and decide what they may do."""
        return self.has_add_permission(request) and self.has_change_permission(request)

    @action(description=_("Invite…"), permissions=["invite"])
    def start(self, request: HttpRequest) -> HttpResponse:
        """Redirect to the form."""
        return HttpResponseRedirect(reverse(INVITE))

    def get_urls(self) -> list[URLPattern]:
        """Add the page that invites."""
        view = self.admin_site.admin_view(self.invite_page)
        return [path("invite/", view, name="auth_user_invite"), *super().get_urls()]

    @once_more_if_taken
    def invite_page(self, request: HttpRequest) -> HttpResponse:
        """Show the form. A POST makes the account and mails the link, or shows it once."""
        if not self.has_invite_permission(request):
            raise PermissionDenied
        form = InvitationForm(request.POST or None, request=request)
        if request.method == "POST" and form.is_valid():
            person, is_tied = form.save()
            rows = User.objects.filter(pk=person.pk)
            role = stored_role(form.cleaned_data["group"].name)
            note(
                request,
                rows,
                sentence("Invited as %(group)s.", group=role),
                ADDITION,
            )
            if not is_tied:
                text = _("Somebody has changed the user of the platform meanwhile: tie it there.")
                messages.warning(request, text)
            return self._hand_over(request, person)
        context = titled(_("Invite a person")) | {
            "form": form,
            "is_mail_on": mails_are_sent(),
            "lasts": password_links.lasts(),
            "back": list_of("auth.user"),
        }
        return page(self, request, "orders/invite.html", context)

    @action(description=_("Send a link to set a password…"), permissions=["change"])
    def send_link(self, request: HttpRequest, queryset: QuerySet[User]) -> HttpResponse | None:
        """Mail a new link to one person, or show it once (POST only)."""
        chosen = list(queryset[:2])
        if len(chosen) != 1 or not (chosen[0].is_active and chosen[0].is_staff):
            messages.warning(request, _("Choose one person who may log in here."))
            return None
        if not login.is_confirmed(request, request.POST.get("password", ""), timezone.now()):
            text = gettext("The link works once. The present password works until then.")
            return own_password.ask_first(self, request, title=gettext("Send a link"), text=text)
        note(
            request,
            User.objects.filter(pk=chosen[0].pk),
            sentence("Sent a link to set the password."),
        )
        return self._hand_over(request, chosen[0])

    def _hand_over(self, request: HttpRequest, person: User) -> HttpResponse:
        """Mail the link. If that is not possible, show it once to the one who invites."""
        why = gettext("This installation sends no mail.")
        if mails_are_sent() and person.email:
            try:
                password_links.invite(person)
            except MAIL_ERRORS as error:
                why = gettext("The mail could not be sent (%(error)s).") % {
                    "error": type(error).__name__
                }
            else:
                text = gettext("A link to set the password went to %(email)s.")
                messages.success(request, text % {"email": person.email})
                return HttpResponseRedirect(page_of(person))
        elif mails_are_sent():
            why = gettext("The account has no mail address.")
        return secret_page(
            self,
            request,
            title=gettext("Link for %(name)s") % {"name": person.get_username()},
            text=f"{why} {GIVE % {'lasts': password_links.lasts()}}",
            secret=password_links.link_of(person),
            back=page_of(person),
        )
