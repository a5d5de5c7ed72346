"""Pure: after a backup was restored, the first read of a property decides nothing by itself.

Our values may be older than those of the platform, even if the platform holds the value of the
backup: it may have changed twice. So each difference becomes a conflict, whatever the policy.
"""

from dataclasses import replace
from datetime import datetime

from crm_sync.models import Workspace
from properties import merge
from properties.domain.difference import short, smallest_patch
from properties.merge import Clash, Owner
from properties.models import Property
from properties.models.property import ProblemKind, with_problem
from properties.ownership import Ownership
from properties.pull.observation import Observation


def is_unread(row: Property, restored_at: datetime | None) -> bool:
    """Return whether a row comes from a backup and was not read since the restore."""
    if restored_at is None or row.created_at >= restored_at:
        return False
    return row.read_at is None or row.read_at < restored_at


def rules(ownership: Ownership) -> Ownership:
    """Return the rules for the first read: no policy and no rule lets our values win."""
    ours = {key: Owner.ASK for key, owner in ownership.rules.items() if owner is Owner.OURS}
    policy = Workspace.ConflictPolicy.ASK
    return replace(ownership, policy=policy, rules={**ownership.rules, **ours})


def asked(merged: Property, seen: Observation, ownership: Ownership) -> Observation:
    """Return the observation with a conflict at each leaf that would otherwise be sent.

    Args:
        merged: the row with the columns of `seen`.
        ownership: the rules of the first read.
    """
    left = smallest_patch(merged, ownership).parts
    ours, theirs = merge.leaves(merged.desired), merge.leaves(merged.observed)
    clashes = [
        Clash(path, ours=ours.get(path), base=theirs.get(path), theirs=theirs.get(path))
        for path in left
    ]
    texts = {
        one.path: f"A backup was restored: ours is {short(one.ours)}, the platform's"
        f" {short(one.theirs)}. Decide whose value stands"
        for one in clashes
    }
    problem = with_problem(merged.problem, ProblemKind.CONFLICT, texts)
    columns = seen.columns | {"problem": problem}
    return replace(seen, columns=columns, clashes=(*seen.clashes, *clashes))
