"""The columns of this app that may contain the names of people (S23)."""

from django.db.models import Q

from crm_sync.hooks import FreeText
from orders.models import (
    Assignment,
    ChangeRequest,
    Material,
    MaterialFile,
    MaterialSet,
    Order,
    PersonSettings,
    Placement,
    ReminderSettings,
    StatusChange,
    Target,
    TargetFile,
    UserList,
)

# The facts of the timeline that are words. The others are statuses and moments.
IN_WORDS = (StatusChange.Fact.ACTION, StatusChange.Fact.PHOTOGRAPHER, StatusChange.Fact.MATERIALS)
# A placement that is still to be sent is not searched: it is an order that somebody wants.
ENDED = (Placement.State.PLACED, Placement.State.FAILED)

FREE_TEXT = (
    FreeText(Order, ("observed", "problem")),
    FreeText(Assignment, ("action_required", "problem")),
    # Those with an id are blanked completely, and known again by it.
    FreeText(Assignment, ("photographer",), Q(photographer__id__isnull=True)),
    FreeText(ChangeRequest, ("body", "program", "words"), ~Q(outcome="SENT")),
    FreeText(Material, ("file_name",)),
    FreeText(MaterialFile, ("problem",)),
    FreeText(MaterialSet, ("problem",)),
    FreeText(PersonSettings, ("problem",)),
    FreeText(ReminderSettings, ("problem",)),
    FreeText(
        Placement,
        ("offered", "options", "products", "instructions", "problem", "program"),
        Q(state__in=ENDED),
    ),
    FreeText(StatusChange, ("previous", "new"), Q(fact__in=IN_WORDS)),
    FreeText(StatusChange, ("previous_name", "new_name")),
    FreeText(Target, ("name", "problem")),
    FreeText(TargetFile, ("name", "problem")),
    FreeText(UserList, ("problem",)),
)
