"""manage.py match_properties: link what is only here with what only the platform has (I36)."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from crm_sync.management.base import FAILED, PARTLY, SyncCommand
from crm_sync.models import Workspace
from properties.domain import candidates
from properties.domain.matching import Matching
from properties.match_keys import Criterion
from properties.models import Property
from properties.pull.linking import Linking, LinkOutcome, link_all

SHOWN = 20  # lines of one kind
POLICIES = {
    "ours": Workspace.ConflictPolicy.CRM_WINS,
    "platform": Workspace.ConflictPolicy.PLATFORM_WINS,
    "ask": Workspace.ConflictPolicy.ASK,
}


class Command(SyncCommand):
    """Exit codes: 0 all pairs are linked, 3 something is ambiguous or was not linked, 1 no pair
    was linked though there are some, 2 no such workspace. A repetition goes on.
    """

    help = (
        "Link the properties that are only here with those that only the platform has, if a"
        " criterion names exactly one on each side. Nothing is created or sent by it."
    )
    changes = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", help="the workspace")
        criteria = [one.value for one in Criterion]
        parser.add_argument("--by", required=True, choices=criteria, help="what to match by")
        parser.add_argument(
            "--where-both",
            choices=[*POLICIES],
            help="whose value counts where both have one; default: the policy of the workspace",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        """Match, link, and print what is left for a person."""
        workspace, criterion = self.workspace(options["slug"]), Criterion(options["by"])
        found = candidates.matching(workspace.pk, criterion)
        first = Matching(found.matched[:SHOWN], found.ambiguous[:SHOWN])
        names = _names(first)
        lines, document = _lines(first, names), _document(workspace, found, first, names)
        counts: Counter[LinkOutcome] = Counter()
        if found.matched and not options["dry_run"]:
            policy = POLICIES.get(options["where_both"], workspace.conflict_policy)
            by = Linking(policy, timezone.now(), program=self.operator())
            counts = link_all(workspace.pk, found.matched, by, until=float("inf"))
        linked = counts[LinkOutcome.LINKED]
        document["linked"] = linked
        would = f"{len(found.matched)} would be linked" if options["dry_run"] else ""
        rest = f"{len(found.ambiguous)} ambiguous, {len(found.only_ours)} only here"
        rest = f"{rest}, {len(found.only_theirs)} only on the platform"
        lines.append(f"{would or f'{linked} linked'}, {rest}")
        self.emit(document, lines, as_json=options["json"])
        if not options["dry_run"] and (failed := counts.total() - linked):
            text = f"{failed} not linked: a worker or a person has them at the moment"
            self.fail(text, PARTLY if linked else FAILED)
        if found.ambiguous:
            self.fail("a person decides what is ambiguous, on the tab Match", PARTLY)


def _names(found: Matching) -> dict[int, str]:
    """Return what the rows that are printed are called."""
    keys = {key for pair in found.matched for key in pair}
    keys |= {key for group in found.ambiguous for key in (*group.ours, *group.theirs)}
    rows = Property.objects.only("object_reference_id", "platform_id")
    return {row.pk: str(row) for row in rows.filter(pk__in=keys)} if keys else {}


def _lines(first: Matching, names: Mapping[int, str]) -> list[str]:
    lines = [f"pair       {names[a]} = {names[b]}" for a, b in first.matched]
    for group in first.ambiguous:
        ours, theirs = (
            ", ".join(names[key] for key in keys) for keys in (group.ours, group.theirs)
        )
        lines.append(f"ambiguous  {ours} = {theirs} ({group.key})")
    return lines


def _document(
    workspace: Workspace, found: Matching, first: Matching, names: Mapping[int, str]
) -> dict[str, Any]:
    return {
        "workspace": workspace.slug,
        "matched": len(found.matched),
        "ambiguous": len(found.ambiguous),
        "only_here": len(found.only_ours),
        "only_on_the_platform": len(found.only_theirs),
        "pairs_first": [{"ours": names[a], "theirs": names[b]} for a, b in first.matched],
        "ambiguous_first": [
            {
                "key": group.key,
                "ours": [names[key] for key in group.ours],
                "theirs": [names[key] for key in group.theirs],
            }
            for group in first.ambiguous
        ],
    }
