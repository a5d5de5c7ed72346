"""Users and groups in the style of the admin. Django's own screens would be unstyled.

A change of either can give somebody access, so each form needs the user's own password (S17).
"""

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

from django import forms
from django.apps import apps
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.admin.widgets import FilteredSelectMultiple
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin, UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group, Permission, User
from django.contrib.contenttypes.models import ContentType
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_lazy as _, ngettext
from unfold import forms as unfold_forms

from crm_sync.admin.accounts.only_password import OnlyPassword
from crm_sync.admin.ui import own_password
from crm_sync.admin.ui.base import (
    AdminPasswordChangeForm,
    ModelAdmin,
    UnfoldAdminTextInputWidget,
    UserChangeForm,
    UserCreationForm,
)
from crm_sync.admin.ui.cells import exact_moment
from crm_sync.admin.ui.page import page, titled
from crm_sync.admin.ui.scope import note
from crm_sync.admin.ui.shown_values import ShownValues
from crm_sync.models import Workspace
from crm_sync.security import login, provider, provider_login, sessions
from crm_sync.security.roles import role_name
from crm_sync.sentence import counted_sentence, sentence
from crm_sync.translated import Text, number

if TYPE_CHECKING:
    _Screen = admin.ModelAdmin[Any]
else:
    _Screen = object

admin.site.unregister(User)
admin.site.unregister(Group)
# Each page, select and filter names a group by it; a form of the group shows the stored name.
Group.__str__ = role_name  # type: ignore[method-assign, assignment]
OWN = "own_password"  # the name of the input: the password of the account has other names
SUBJECT = "provider_subject"  # the name of the input
SESSIONS = "admin:auth_user_sessions"
# How the code of a permission begins, which Django makes for each model → what it allows.
ALLOWED: dict[str, Text] = {
    "add": _("Can add %(what)s"),
    "change": _("Can change %(what)s"),
    "delete": _("Can delete %(what)s"),
    "view": _("Can view %(what)s"),
}


class AsksPassword:
    """A form that ends with the user's own password, if it is needed."""

    request: HttpRequest
    fields: dict[str, forms.Field]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        own_password.ask(cast("forms.BaseForm", self), self.request, OWN)

    def clean(self) -> Any:
        """Check the password last."""
        cleaned = super().clean()  # type: ignore[misc]
        own_password.check(cast("forms.BaseForm", self), self.request, OWN)
        return cleaned


class OwnPasswordForm(AsksPassword, forms.Form):
    """Only the password input, for a form that Django makes."""

    def __init__(self, request: HttpRequest) -> None:
        self.request = request
        super().__init__()


class AfterPassword(_Screen):
    """A screen that saves and deletes only after the password, and one row at a time."""

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        """Add the password to the form."""
        names = kwargs.get("fields")
        if names:
            kwargs["fields"] = [name for name in names if name != OWN]
        made = super().get_form(request, obj, change=change, **kwargs)
        kind: Any = type(made)
        return kind(made.__name__, (AsksPassword, made), {"request": request})

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Put the password last, for a person who may save."""
        may = self.has_change_permission(request, obj) if obj else self.has_add_permission(request)
        found = [*super().get_fieldsets(request, obj)]
        if may and login.needs_password(request, timezone.now()):
            found.append((_("Before you save"), {"fields": (OWN,)}))
        return found

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Offer the permissions that a screen asks for, by names in the language of the reader."""
        field: Any = super().formfield_for_manytomany(db_field, request, **kwargs)
        if field is not None and db_field.related_model is Permission:
            kinds = ContentType.objects.get_for_models(*self.admin_site._registry)
            field.queryset = field.queryset.filter(content_type__in=kinds.values())
            field.label_from_instance = permission_name
        return field

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Name what is deleted with a row, without the links between rows: they say nothing."""
        found, counts, needed, protected = super().get_deleted_objects(objs, request)
        links = [one._meta for one in apps.get_models(include_auto_created=True)]
        links = [one for one in links if one.auto_created]
        begins = tuple(f"{capfirst(one.verbose_name)}: " for one in links)
        plural = {str(one.verbose_name_plural) for one in links}
        counts = {name: count for name, count in counts.items() if str(name) not in plural}
        return _without(found, begins), counts, needed, protected

    def get_actions(self, request: HttpRequest) -> Any:
        """Remove the action that deletes several rows."""
        found = super().get_actions(request)
        found.pop("delete_selected", None)
        return found

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: Any = None
    ) -> HttpResponse:
        """Delete one row (POST)."""
        if self.has_delete_permission(request) and not is_confirmed(request):
            return HttpResponseRedirect(request.path)
        return _asking(request, super().delete_view(request, object_id, extra_context))


def _without(found: list[Any], begins: tuple[str, ...]) -> list[Any]:
    """Return a nested list without the texts that begin so, and without lists that are empty."""
    kept = [_without(one, begins) if isinstance(one, list) else one for one in found]
    return [one for one in kept if one and not str(one).startswith(begins)]


def permission_name(permission: Permission) -> str:
    """Return a permission as a list shows it. The stored names are English."""
    kind = permission.content_type
    begins, __, model = permission.codename.partition("_")
    if model == kind.model and begins in ALLOWED:
        name = ALLOWED[begins] % {"what": kind.name}
    else:
        name = gettext(permission.name)
    return f"{kind} | {name}"


def is_confirmed(request: HttpRequest) -> bool:
    """Return whether a request has the right password. If not, a message gives the reason."""
    if request.method != "POST":
        return True
    if login.is_confirmed(request, request.POST.get(OWN, ""), timezone.now()):
        return True
    messages.error(request, login.wrong_password())
    return False


def _asking(request: HttpRequest, answer: HttpResponse) -> HttpResponse:
    """Add the password input to a page of Django, if it is needed."""
    if isinstance(answer, TemplateResponse) and answer.context_data is not None:
        form = OwnPasswordForm(request=request)
        answer.context_data["own_password"] = form[OWN] if OWN in form.fields else None
    return answer


class PersonForm(ShownValues, UserChangeForm):  # type: ignore[misc]
    """The form of Django, with the workspaces that the person sees."""

    workspaces = forms.ModelMultipleChoiceField(
        Workspace.objects.only("pk", "slug").order_by("slug"),  # no secret (S5)
        required=False,
        label=_("Workspaces"),
        widget=FilteredSelectMultiple(_("workspaces"), is_stacked=False),
        help_text=_(
            "Agents and those who may only look see these. Operators and superusers see all."
        ),
    )

    provider_subject = forms.CharField(
        required=False,
        max_length=provider.LONGEST,
        label=_("Subject"),
        widget=UnfoldAdminTextInputWidget,
        help_text=_(
            "The claim “sub” of the person at the provider. With it they log in there to this"
            " account; groups and workspaces then come from there at each login."
        ),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        mine = self.instance.workspaces.values_list("pk", flat=True)
        self.initial["workspaces"] = list(mine)
        if provider.is_on():
            self.initial[SUBJECT] = provider_login.subject_of(self.instance)
        else:
            del self.fields[SUBJECT]

    def clean_provider_subject(self) -> str:
        """Refuse the subject of another account."""
        subject = str(self.cleaned_data[SUBJECT])
        other = provider_login.person_of(subject) if subject else None
        if other is not None and other != self.instance:
            text = gettext("This is the subject of %(name)s. Remove it there first.")
            raise forms.ValidationError(text % {"name": other.get_username()})
        return subject


class SetPasswordForm(OnlyPassword, AdminPasswordChangeForm):  # type: ignore[misc]
    """The form with which somebody sets the password of another person."""


class SetOwnPasswordForm(OnlyPassword, unfold_forms.AdminOwnPasswordChangeForm):  # type: ignore[misc]
    """The form with which people set their own password."""


unfold_forms.AdminOwnPasswordChangeForm = SetOwnPasswordForm  # unfold's page takes it from there


@admin.register(User)
class UserAdmin(AfterPassword, DjangoUserAdmin, ModelAdmin):  # type: ignore[type-arg]
    """The people who may log in, their permissions and their workspaces."""

    form = PersonForm
    add_form = UserCreationForm
    change_password_form = SetPasswordForm
    change_user_password_template = "crm_sync/accounts/set_password.html"  # noqa: S105 - a file
    fieldsets = (
        *(DjangoUserAdmin.fieldsets or ()),
        (_("Workspaces"), {"fields": ("workspaces",)}),
    )

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Add the account at the provider of one login, if there is one."""
        found = [*super().get_fieldsets(request, obj)]
        if obj is not None and provider.is_on() and self.has_change_permission(request, obj):
            at = 1 + next(n for n, (__, one) in enumerate(found) if "workspaces" in one["fields"])
            found.insert(at, (_("Account at the provider"), {"fields": (SUBJECT,)}))
        return found

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Write the workspaces, if this form changed them."""
        super().save_related(request, form, formsets, change)
        if "workspaces" in form.changed_data:
            form.instance.workspaces.set(form.cleaned_data["workspaces"])
        if SUBJECT in form.changed_data:
            provider_login.connect(form.instance, form.cleaned_data[SUBJECT])

    def user_change_password(
        self,
        request: HttpRequest,
        id: str,  # noqa: A002 - as Django names it
        form_url: str = "",
    ) -> HttpResponse:
        """Set another password for a person (POST)."""
        if self.has_change_permission(request) and not is_confirmed(request):
            return HttpResponseRedirect(request.path)
        return _asking(request, super().user_change_password(request, id, form_url))

    def get_urls(self) -> list[URLPattern]:
        """Add the page of the user's own sessions, which needs no permission."""
        view = self.admin_site.admin_view(self.sessions_page)
        return [path("sessions/", view, name="auth_user_sessions"), *super().get_urls()]

    def sessions_page(self, request: HttpRequest) -> HttpResponse:
        """Show the user's own sessions. A POST ends one of them, or all except this one."""
        person, now = cast("User", request.user), timezone.now()
        if request.method == "POST":
            _end_sessions(request, person)
            return HttpResponseRedirect(reverse(SESSIONS))
        found = sessions.logins(person, now)
        context = {
            **titled(gettext("Sessions")),
            "logins": [
                {
                    "name": one.name,
                    "is_this": one.key == request.session.session_key,
                    "began": exact_moment(one.began_at, now),
                    "used": exact_moment(one.used_at, now),
                    "address": one.address,
                    "browser": browser_of(one.browser),
                    "agent": one.browser,
                }
                for one in found
            ],
            "ends": _when_sessions_end(),
        }
        return page(self, request, "crm_sync/accounts/sessions.html", context)


def _when_sessions_end() -> str:
    idle, longest = round(settings.SESSION_IDLE / 60), round(settings.SESSION_COOKIE_AGE / 3600)
    hours = ngettext("%(count)s hour", "%(count)s hours", longest) % {"count": number(longest)}
    if not idle:
        return gettext("A session ends %(hours)s after its login.") % {"hours": hours}
    minutes = ngettext("%(count)s minute", "%(count)s minutes", idle) % {"count": number(idle)}
    text = gettext("A session ends after %(minutes)s without use, and %(hours)s after its login.")
    return text % {"minutes": minutes, "hours": hours}


def _end_sessions(request: HttpRequest, person: User) -> None:
    now, mine = timezone.now(), request.session.session_key
    others = {one.name for one in sessions.logins(person, now) if one.key != mine}
    chosen = request.POST.get("end", "")
    count = sessions.end(person, others if chosen == "others" else others & {chosen}, now)
    if count:
        ended = counted_sentence(
            "Ended %(count)s session.", "Ended %(count)s sessions.", count=count
        )
        note(request, User.objects.filter(pk=person.pk), ended)
        text = ngettext("Ended: %(count)s session.", "Ended: %(count)s sessions.", count)
        messages.success(request, text % {"count": number(count)})
    else:
        messages.warning(request, gettext("This session was over already."))


def browser_of(agent: str) -> str:
    """Return a short name of a browser and its system, from the header `User-Agent`."""
    names = ("Edg", "OPR", "Firefox", "Chrome", "Safari", "curl")
    systems = ("Android", "iPhone", "iPad", "Windows", "Mac OS", "Linux")
    shown = {"Edg": "Edge", "OPR": "Opera", "Mac OS": "macOS"}
    found = [next((one for one in each if one in agent), "") for each in (names, systems)]
    browser, system = (shown.get(one, one) for one in found)
    if browser and system:
        text = gettext("%(browser)s on %(system)s")
        return text % {"browser": browser, "system": system}
    return browser or system or gettext("Another program")


def password_change(
    request: HttpRequest, extra_context: dict[str, Any] | None = None
) -> HttpResponse:
    """Change the user's own password, and log it in the history of the account (S17)."""
    given = request.POST.get("old_password", "")
    if given and not login.is_own(request, given):
        messages.error(request, login.wrong_password())
        return HttpResponseRedirect(request.path)
    answer = _password_change(request, extra_context)
    if answer.status_code == HTTPStatus.FOUND:
        note(
            request,
            User.objects.filter(pk=int(request.user.pk or 0)),
            sentence("Changed the own password."),
        )
    return answer


_password_change = admin.site.password_change


@admin.register(Group)
class GroupAdmin(AfterPassword, DjangoGroupAdmin, ModelAdmin):  # type: ignore[misc]
    """Permissions that several users share."""
