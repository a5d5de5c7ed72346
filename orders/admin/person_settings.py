"""The page where people choose their mails, zone and language, and the list for operators."""

from collections.abc import Iterable
from functools import partial
from typing import Any, cast

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.db.models import F, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _, ngettext

from crm_sync.admin.ui.base import (
    ModelForm,
    UnfoldAdminSelectWidget,
    UnfoldBooleanWidget,
    action,
)
from crm_sync.admin.ui.cells import exact_moment, shortened
from crm_sync.admin.ui.columns import column, moment_column
from crm_sync.admin.ui.page import page, titled
from crm_sync.admin.ui.readonly import Empty, ReadOnlyAdmin
from crm_sync.admin.ui.scope import OwnPage
from crm_sync.mail import mails_are_sent
from crm_sync.models import AlarmKind
from crm_sync.sentence import sentence
from crm_sync.text import capitalized
from orders.admin import zone_proposal
from orders.admin.overview_news import seen
from orders.calendar import reminders
from orders.calendar.reminders import REMINDERS
from orders.models import PersonSettings, ReminderSettings
from orders.models.news import News
from orders.models.person_settings import OFF, alarm_switch_of, switch_of
from orders.models.reminder import USUAL_HOUR
from orders.people.alarm_readers import OPERATES
from orders.people.preferences import choose, settings_of, time_zones

MINE = "admin:orders_personsettings_mine"
SWITCHES = tuple(switch_of(kind) for kind in News)
ALARMS = tuple(alarm_switch_of(kind) for kind in AlarmKind)


class PersonSettingsForm(ModelForm):
    """The kinds of mail, the orders that they are about, and the zone and language of the pages."""

    only_mine = forms.TypedChoiceField(
        label=_("About"),
        choices=[("mine", _("Only my orders")), ("all", _("All orders that I may see"))],
        coerce=lambda chosen: chosen == "mine",
        widget=UnfoldAdminSelectWidget,
        help_text=_(
            "My orders: those that I placed or confirmed here, and those of the platform users who"
            " are tied to my account."
        ),
    )
    time_zone = forms.ChoiceField(
        label=_("Time zone"),
        required=False,
        widget=UnfoldAdminSelectWidget,
        help_text=_("Of all times on these pages."),
    )
    reminds = forms.BooleanField(
        label=_("Remind me the day before an appointment"),
        required=False,
        widget=UnfoldBooleanWidget,
        help_text=_("One mail with all appointments; another one if an appointment is moved."),
    )
    reminder_hour = forms.TypedChoiceField(
        label=_("Hour of the reminder"),
        required=False,
        coerce=int,
        choices=[(hour, f"{hour:02}:00") for hour in range(24)],
        widget=UnfoldAdminSelectWidget,
        help_text=_("In your time zone."),
    )
    language = forms.ChoiceField(
        label=_("Language"),
        required=False,
        widget=UnfoldAdminSelectWidget,
        help_text=_("Of these pages, your mails and your calendar."),
    )

    class Meta:
        model = PersonSettings
        fields = (*SWITCHES, *ALARMS, "only_mine", "time_zone", "language")
        widgets = dict.fromkeys((*SWITCHES, *ALARMS), UnfoldBooleanWidget)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        hour = reminders.hour_of(self.instance.person)
        self.initial["reminds"] = hour is not None
        self.initial["reminder_hour"] = USUAL_HOUR if hour is None else hour
        self.initial["only_mine"] = "mine" if self.instance.only_mine else "all"
        usual = ("", _("As the installation (%(zone)s)") % {"zone": settings.TIME_ZONE})
        named = [(name, name) for name in time_zones()]
        self.fields["time_zone"].choices = [usual, *named]  # type: ignore[attr-defined]
        if_none = ("", _("As my account on the platform, or my browser"))
        self.fields["language"].choices = [if_none, *settings.LANGUAGES]  # type: ignore[attr-defined]

    @property
    def mails(self) -> list[forms.BoundField]:
        """The inputs about mail."""
        return [self[name] for name in (*SWITCHES, "reminds", "reminder_hour", "only_mine")]

    @property
    def alarms(self) -> list[forms.BoundField]:
        """The inputs about alarms, for operators."""
        return [self[name] for name in ALARMS]

    @property
    def others(self) -> list[forms.BoundField]:
        """The inputs about the pages."""
        return [self["time_zone"], self["language"]]

    def save_for(self, person: User) -> None:
        """Write the choices of a valid form."""
        chosen = self.cleaned_data
        now = timezone.now()
        hour = USUAL_HOUR if chosen["reminder_hour"] == "" else chosen["reminder_hour"]
        hour = hour if chosen["reminds"] else None
        reminders.choose(person, hour=hour, now=now)
        choose(
            person,
            kinds=[kind for kind in News if chosen[switch_of(kind)]],
            alarms=[kind for kind in AlarmKind if chosen[alarm_switch_of(kind)]],
            only_mine=chosen["only_mine"],
            time_zone=chosen["time_zone"],
            language=chosen.get("language", self.instance.language),
            now=now,
        )


def mine_page(screen: "PersonSettingsAdmin", request: HttpRequest) -> HttpResponse:
    """Show and save one's own settings. The settings of other people are not shown here."""
    person, now = cast("User", request.user), timezone.now()
    row = settings_of(person)
    form = PersonSettingsForm(request.POST or None, instance=row)
    if request.method == "POST" and form.is_valid():
        form.save_for(person)
        messages.success(request, _("Saved."))
        return HttpResponseRedirect(reverse(MINE))
    both = (row, ReminderSettings.objects.filter(person=person, due_at__isnull=False).first())
    failed = next((one for one in both if one and one.problem), None)
    context = {
        **titled(_("My settings")),
        "form": form,
        "email": person.email,
        "is_mail_on": mails_are_sent(),
        "operates": person.has_perm(OPERATES),
        "sees_orders": person.has_perm("orders.view_order"),
        "problem": failed.problem if failed else "",
        "next_try": exact_moment(failed.due_at, now) if failed else "",
        "mailed": exact_moment(row.mailed_at, now) if row.mailed_at else "",
    }
    return page(screen, request, "orders/my_settings.html", context)


@admin.register(PersonSettings)
class PersonSettingsAdmin(ReadOnlyAdmin):
    """The people who get mail, the time of the last mail, and the problem with the next one."""

    workspace_path = None
    empty = Empty(_("Nobody gets mail"), _("Everybody chooses it under My settings."))
    list_display = ("who", "kinds", "range_", "last", "trouble")
    list_display_links = None
    fields = readonly_fields = list_display
    search_fields = ("person__username", "person__email")
    search_help_text = _("Account or e-mail")
    ordering = ("person__username",)
    annotations = {
        "username": F("person__username"),
        "email": F("person__email"),
        "reminder_due": F("person__reminder_settings__due_at"),
        "reminder_problem": F("person__reminder_settings__problem"),
    }
    actions = ("try_again",)

    who = column(_("account"), lambda row: row.username, "person__username")
    kinds = column(_("about"), lambda row: ", ".join(_kinds(row)))
    range_ = column(
        _("shows"), lambda row: _("Only own orders") if row.only_mine else _("All orders")
    )
    last = moment_column(_("last mail"), "mailed_at")
    trouble = column(_("problem"), lambda row: shortened(_problem(row)))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Exclude people who want no mail."""
        return super().get_queryset(request).filter(~OFF | Q(reminder_due__isnull=False))

    def pages(self) -> Iterable[OwnPage]:
        """Return the person's own pages, which need no permission."""
        return [
            OwnPage("mine/", "mine", partial(mine_page, self)),
            OwnPage("seen/", "seen", seen),
            OwnPage("zone/", "zone", zone_proposal.answer),
        ]

    @action(description=_("Try again"), permissions=["act"])
    def try_again(self, request: HttpRequest, queryset: QuerySet[PersonSettings]) -> None:
        """Make mails due now that could not be sent (POST only)."""
        waiting = Q(due_at__isnull=False) & ~Q(problem="")
        news = PersonSettings.objects.filter(waiting)
        late = ReminderSettings.objects.filter(waiting)
        failed = queryset.order_by().filter(waiting | Q(person__in=late.values("person")))
        self.note(request, failed, sentence("Asked for the mail."))
        people = list(failed.values_list("person", flat=True))
        for rows in (news, late):
            rows.filter(person__in=people).update(due_at=timezone.now())
        count = len(people)
        text = ngettext(
            "%(count)s mail is tried again now.", "%(count)s mails are tried again now.", count
        )
        messages.success(request, text % {"count": count})


def _kinds(row: Any) -> list[str]:
    reminding = [capitalized(str(REMINDERS.title))] if row.reminder_due else []
    return [*(str(kind.label) for kind in row.kinds), *reminding]


def _problem(row: Any) -> str:
    problem: str = row.problem or (row.reminder_problem if row.reminder_due else "")
    return problem
