"""The rules who owns a field, as edits and pushes ask for them.

They are a column of the workspace, which each push has read already. So they cost a push no
statement (decision 27). `properties.domain.owner_change` changes them.
"""

from crm_sync.models import Workspace
from properties.catalog import FieldFault
from properties.merge import Leaves, leaves
from properties.models import Property
from properties.ownership import Ownership, lockable


def of_workspace(workspace: Workspace) -> Ownership:
    """Return the rules of a workspace, as it was read."""
    return Ownership.of(workspace.conflict_policy, workspace.owners, workspace.slug)


def of_key(workspace_id: int) -> Ownership:
    """Return the rules of a workspace as they are now, in one statement."""
    rows = Workspace.objects.filter(pk=workspace_id)
    policy, stored, slug = rows.values_list("conflict_policy", "owners", "slug").get()
    return Ownership.of(policy, stored, slug)


def of(row: Property) -> Ownership:
    """Return the rules for a property: those read with it (`with_rules`), else those of now."""
    read = row.__dict__
    if "rules" in read:
        return Ownership.of(read["rules_policy"], read["rules"], read["rules_of"])
    return of_key(row.workspace_id)


def refused(row: Property, changes: Leaves, ownership: Ownership) -> list[FieldFault]:
    """Return a fault for each change that a rule keeps from being made here."""
    if not lockable(ownership.rules):  # the documents of a platform are wide
        return []
    theirs = leaves(row.observed)
    reasons = {p: ownership.refusal(p, value, theirs.get(p)) for p, value in changes.items()}
    return [FieldFault(path, reason) for path, reason in reasons.items() if reason]
