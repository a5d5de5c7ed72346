"""manage.py forget_person: remove the data about a person that is stored here (S23)."""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from crm_sync.forgetting import Mention
from crm_sync.management.base import PARTLY, USAGE, SyncCommand
from orders.people import person_removal
from orders.people.person_search import find

SHOWN = 10  # places of a column


class Command(SyncCommand):
    """Removes a person. The exit code is 3 if something is left."""

    help = (
        "Blank what is stored about a person: a photographer, a user of the platform, an account of"
        " ours. Begin with --dry-run, which shows each place. docs/personal-data.md says what"
        " stays, and what the platform still has."
    )
    changes = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "who", nargs="+", help="an e-mail, a phone or a whole name; no single word"
        )

    def handle(self, *_: Any, **options: Any) -> None:
        """Remove the data and print the places that are left. A dry run prints all places."""
        try:
            person = find(options["who"])
        except ValueError as error:
            self.fail(str(error), USAGE)
        dry_run = options["dry_run"]
        places = person_removal.forget(person, now=timezone.now(), dry_run=dry_run)
        goes, stays = _counted(places, is_left=False), _counted(places, is_left=True)
        shown = [one for one in places if one.is_left or dry_run]
        document = {
            "looked_for": sorted(person.words),
            "not_looked_for": sorted(person.not_looked_for),
            "dry_run": dry_run,
            "changed": goes,
            "left": stays,
            "places": [asdict(one) for one in shown],
        }
        lines = [f"looked for: {', '.join(sorted(person.words))}"]
        if person.not_looked_for:
            said = ", ".join(sorted(person.not_looked_for))
            lines.append(f"not looked for, too short or of others too: {said}")
        lines += _lines(shown, goes, "would be blanked" if dry_run else "blanked", is_left=False)
        lines += _lines(shown, stays, "left", is_left=True)
        self.emit(document, lines, as_json=options["json"])
        if stays:
            self.fail(
                f"{sum(stays.values())} places are left. The document of a property: edit it. What"
                " waits: settle it. A name beside another one: if it is the same person, add all"
                " of the name. A key, a state or an address is changed by nobody but you. Then run"
                f" this again with all that was looked for: {shlex.join(sorted(person.words))}",
                PARTLY,
            )


def _counted(places: Iterable[Mention], *, is_left: bool) -> dict[str, int]:
    """Count the places by model and column."""
    return dict(sorted(Counter(one.where for one in places if one.is_left == is_left).items()))


def _lines(
    shown: Iterable[Mention], counts: dict[str, int], verb: str, *, is_left: bool
) -> Iterator[str]:
    """Yield each column with its count, and its first places, if they are shown."""
    for where, count in counts.items():
        yield f"{count:>6}  {where}: {verb}"
        mine = [one for one in shown if one.where == where and one.is_left == is_left]
        for one in mine[:SHOWN]:
            yield f"{'':8}row {one.row}: {' | '.join(one.texts)}"
        if len(mine) > SHOWN:
            yield f"{'':8}and {len(mine) - SHOWN} more: --json names all"
    yield f"{sum(counts.values())} places {verb}"
