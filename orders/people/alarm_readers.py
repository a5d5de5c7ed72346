"""The operators who want mail about alarms, by their own settings."""

from collections.abc import Iterator

from crm_sync.hooks import AlarmReader
from crm_sync.links import absolute
from crm_sync.models import Workspace
from crm_sync.security.access import within
from orders.models import PersonSettings
from orders.models.person_settings import alarm_switch_of
from orders.people.language_of_person import language_of

OPERATES = "crm_sync.view_workspace"  # who may open the page of a workspace


def readers(kind: str, workspace_id: int | None) -> Iterator[AlarmReader]:
    """Yield who wants mail about this kind of alarm, and may see its workspace (S17).

    Args:
        workspace_id: None if the alarm is about the whole installation.
    """
    about = [] if workspace_id is None else [workspace_id]
    people = {"person__is_active": True, "person__is_staff": True}
    wanting = PersonSettings.objects.filter(**{alarm_switch_of(kind): True}, **people)
    for row in wanting.exclude(person__email="").select_related("person").order_by("person"):
        person = row.person
        of_theirs = within(person, Workspace.objects.filter(pk__in=about), "pk").count()
        if person.has_perm(OPERATES) and of_theirs == len(about):
            page = absolute("admin:orders_personsettings_mine")
            yield AlarmReader(person.pk, person.email, language_of(row), row.zone, page)
