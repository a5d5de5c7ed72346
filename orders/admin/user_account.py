"""Choosing the account of a user of the platform by hand."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext, gettext_lazy as _

from crm_sync.admin.ui.base import UnfoldAdminSelectWidget
from crm_sync.admin.ui.cells import page_of
from crm_sync.admin.ui.readonly import ReadOnlyAdmin
from crm_sync.sentence import sentence
from orders.models import PlatformUser
from orders.platform_users import user_mirror

BY_EMAIL, NOBODY = "email", "nobody"


class AccountForm(forms.Form):
    """The account of a user: found by e-mail, none, or chosen by a person."""

    account = forms.ChoiceField(
        label=_("Account here"),
        widget=UnfoldAdminSelectWidget,
        help_text=_("Whoever is logged in with this account orders in the name of this user."),
    )
    seen = forms.CharField(widget=forms.HiddenInput)  # the account when the page was made

    def __init__(self, user: PlatformUser, *args: Any, **kwargs: Any) -> None:
        stands = _standing(user)
        kwargs.setdefault("initial", {"account": stands, "seen": f"{stands} {user.account_id}"})
        super().__init__(*args, **kwargs)
        accounts = User.objects.filter(Q(is_active=True) | Q(platform_users=user.pk)).distinct()
        names = [(str(one.pk), _name(one)) for one in accounts.order_by("username")]
        first = [(BY_EMAIL, _("The one with the same e-mail")), (NOBODY, _("Nobody"))]
        self.fields["account"].choices = [*first, *names]  # type: ignore[attr-defined]
        self.user = user

    def is_fresh(self) -> bool:
        """Return whether the account is still the one that the page showed."""
        is_same: bool = (
            self.cleaned_data["seen"] == f"{_standing(self.user)} {self.user.account_id}"
        )
        return is_same


def _standing(user: PlatformUser) -> str:
    if not user.is_tied_by_hand:
        return BY_EMAIL
    return str(user.account_id) if user.account_id else NOBODY


def _name(account: User) -> str:
    more = [part for part in (account.get_full_name(), account.email) if part]
    return f"{account.username} ({', '.join(more)})" if more else account.username


def account_view(admin: ReadOnlyAdmin, request: HttpRequest, pk: int) -> HttpResponse:
    """Save the choice, unless somebody else has changed it since the page was made."""
    user = admin.narrowed(request, PlatformUser.objects.filter(pk=pk)).first()
    if user is None:
        raise Http404
    form = AccountForm(user, request.POST)
    if not form.is_valid():
        messages.error(request, gettext("Choose one of the accounts that there are."))
    elif not form.is_fresh() or not _write(user, form.cleaned_data["account"]):
        messages.warning(
            request,
            gettext(
                "Somebody has changed this meanwhile. Look at it again; nothing was changed now."
            ),
        )
    else:
        mine = PlatformUser.objects.filter(pk=pk)
        name = mine.values_list("account__username", flat=True).get()
        account = (
            sentence("Account: %(name)s.", name=name) if name else sentence("Account: nobody.")
        )
        admin.note(request, mine, account)
        text = gettext("Account: %(name)s.") if name else gettext("Account: nobody.")
        messages.success(request, text % {"name": name})
    return HttpResponseRedirect(page_of(user))


def _write(user: PlatformUser, chosen: str) -> bool:
    if chosen == BY_EMAIL:
        return user_mirror.tie_by_email(user)
    return user_mirror.tie_by_hand(user, None if chosen == NOBODY else int(chosen))
