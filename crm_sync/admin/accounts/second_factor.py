"""Second factors: the page where people set up their own, and the list for superusers (S17).

The secret of an app and the recovery codes are only in the response to the POST that made them. A
person who comes back to the page has to begin again.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, cast

import django_otp
from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.db.models import Count, F, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy as _, ngettext
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice

from crm_sync.admin.ui import own_password
from crm_sync.admin.ui.base import action
from crm_sync.admin.ui.cells import exact_moment
from crm_sync.admin.ui.columns import column, moment_column
from crm_sync.admin.ui.page import page, secret_page, titled
from crm_sync.admin.ui.qr_code import qr_code
from crm_sync.admin.ui.readonly import Empty, ReadOnlyAdmin
from crm_sync.admin.ui.scope import OwnPage, note
from crm_sync.models import AuthenticatorApp
from crm_sync.security import login, second_factor
from crm_sync.security.second_factor import MINE
from crm_sync.sentence import Sentence, sentence
from crm_sync.translated import number

admin.site.unregister(TOTPDevice)  # ours takes its place (S5)
admin.site.unregister(StaticDevice)  # its screens would show the codes
Context = dict[str, Any]
CODES = _(
    "Each code replaces the code of your app once, when you do not have your phone. Print the list,"
    " or keep it with your passwords."
)


def mine_page(screen: "SecondFactorAdmin", request: HttpRequest) -> HttpResponse:
    """Show the user's own second factor. A POST sets it up, replaces or removes it."""
    person = cast("User", request.user)
    if not second_factor.concerns(person):
        raise Http404
    shown: Context = {}
    if request.method == "POST":
        shown = _after_password(request, person)
        if not shown:
            return HttpResponseRedirect(reverse(MINE))
        if "codes" in shown:
            return secret_page(
                screen,
                request,
                title=gettext("Your recovery codes"),
                text=" ".join((*shown.get("before", ()), str(CODES))),
                secret="\n".join(shown["codes"]),
                back=reverse(MINE),
            )
    now = timezone.now()
    app = second_factor.app_of(person)
    context = {
        **titled(gettext("Second factor")),
        "facts": app
        and [
            (gettext("Set up"), exact_moment(app.created_at, now)),
            (gettext("Last used"), exact_moment(app.last_used_at, now)),
            (gettext("Recovery codes left"), second_factor.recovery_codes_left(person)),
        ],
        "is_required": second_factor.is_required(),
        "asks_password": login.needs_password(request, now),
    }
    return page(screen, request, "crm_sync/accounts/second_factor.html", context | shown)


def _confirm(request: HttpRequest, person: User) -> Context:
    """Accept the first code of an app. From then on each login needs a code."""
    device = second_factor.begun(person, timezone.now())
    if device is None:
        return _begin_again(request)
    code = second_factor.without_blanks(request.POST.get("code", ""))
    if fault := second_factor.refusal(person, device, code):
        return {"asks_code": True, "fault": fault}  # the key was shown once
    codes = second_factor.finish(person, device)
    if not codes:  # another tab has begun with another app
        return _begin_again(request)
    django_otp.login(request, device)
    _note(request, person, sentence("Second factor: set up."))
    is_set_up = gettext("The second factor is set up, and your other sessions are over.")
    return {"codes": codes, "before": [is_set_up]}


def _begin_again(request: HttpRequest) -> Context:
    messages.error(request, gettext("Begin again: no app waits for its first code any more."))
    return {}


def _after_password(request: HttpRequest, person: User) -> Context:
    """Run a step that a thief of the session would also try, so it needs the password."""
    chosen = request.POST.get("step", "")
    if not login.is_confirmed(request, request.POST.get("password", ""), timezone.now()):
        wrong = login.wrong_password()
        if chosen == "confirm" and second_factor.begun(person, timezone.now()):
            return {"asks_code": True, "fault": wrong}
        messages.error(request, wrong)
        return {}
    step = STEPS.get(chosen)
    return step(request, person) if step else {}


def _begin(request: HttpRequest, person: User) -> Context:
    return _to_scan(second_factor.begin(person))


def _renew(request: HttpRequest, person: User) -> Context:
    if second_factor.app_of(person) is None:
        return {}
    _note(request, person, sentence("Second factor: new recovery codes."))
    return {"codes": second_factor.new_recovery_codes(person)}


def _remove(request: HttpRequest, person: User) -> Context:
    if second_factor.is_required():
        text = gettext("It is required here: set up another app, which replaces it.")
        messages.error(request, text)
        return {}
    second_factor.remove([person.pk])
    _note(request, person, sentence("Second factor: removed."))
    messages.success(request, gettext("Removed. The password is enough from now on."))
    return {}


STEPS: dict[str, Callable[[HttpRequest, User], Context]] = {
    "begin": _begin,
    "confirm": _confirm,
    "codes": _renew,
    "remove": _remove,
}


def _to_scan(device: Any) -> Context:
    secret = device.secret
    return {
        "picture": qr_code(device.config_url),
        "asks_code": True,
        "secret": " ".join(secret[at : at + 4] for at in range(0, len(secret), 4)),
    }


def _note(request: HttpRequest, person: User, text: Sentence) -> None:
    note(request, User.objects.filter(pk=person.pk), text)


@admin.register(AuthenticatorApp)
class SecondFactorAdmin(ReadOnlyAdmin):
    """The people who have a second factor. A superuser removes it after the phone was lost."""

    workspace_path = None
    empty = Empty(
        _("Nobody has a second factor"),
        _("Each person sets it up under Second factor in the menu."),
    )
    list_display = ("who", "since", "used", "codes")
    list_display_links = None
    search_fields = ("user__username",)
    ordering = ("user__username",)
    fields = ("who", "since", "used")
    annotations = {"username": F("user__username")}
    actions = ("remove",)

    who = column(_("account"), lambda row: row.username, "user__username")
    since = moment_column(_("set up"), "created_at")
    used = moment_column(_("last used"), "last_used_at")
    codes = column(_("recovery codes left"), lambda row: row.codes_left)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Exclude apps that wait for their first code."""
        rows: QuerySet[Any] = super().get_queryset(request).filter(confirmed=True)
        left = Count("user__staticdevice__token_set")
        counted: QuerySet[Any] = rows.annotate(codes_left=left)
        return counted

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Hide the list if the second factor is off."""
        return second_factor.is_on() and super().has_view_permission(request, obj)

    def pages(self) -> Iterable[OwnPage]:
        """Return the page of the user's own second factor, which needs no permission."""
        return [OwnPage("mine/", "mine", partial(mine_page, self))]

    @action(description=_("Remove: the phone is lost"), permissions=["act"])
    def remove(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        """Remove the apps and recovery codes of these accounts (POST only)."""
        if not login.is_confirmed(request, request.POST.get("password", ""), timezone.now()):
            count = queryset.count()
            text = ngettext(
                "Of %(count)s account: at the next login a password is enough, unless a second"
                " factor is required.",
                "Of %(count)s accounts: at the next login a password is enough, unless a second"
                " factor is required.",
                count,
            )
            return own_password.ask_first(
                self,
                request,
                title=gettext("Remove the second factor"),
                text=text % {"count": number(count)},
            )
        people = list(queryset.values_list("user", flat=True))
        note(request, User.objects.filter(pk__in=people), sentence("Second factor: removed."))
        second_factor.remove(people)
        if second_factor.is_required():
            text = ngettext(
                "The second factor of %(count)s person was removed. At the next login they set up"
                " another one.",
                "The second factor of %(count)s people was removed. At the next login they set up"
                " another one.",
                len(people),
            )
        else:
            text = ngettext(
                "The second factor of %(count)s person was removed. At the next login they need"
                " only the password.",
                "The second factor of %(count)s people was removed. At the next login they need"
                " only the password.",
                len(people),
            )
        messages.success(request, text % {"count": number(len(people))})
        return None
