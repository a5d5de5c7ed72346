"""Judges the feeds: each version is imported once, and those that are delivered in their order."""

import itertools
import re

from lab.world.record import Record

IMPORTED = (
    "select one.name, one.state, one.uploaded_at, one.ended_at from properties_import as one"
    " join properties_source as source on source.id = one.source_id"
    " where one.stored_as <> '' and source.address = ? order by one.id"
)
DONE = "DONE"


class FeedJudge:
    """What became of the files of sources."""

    def __init__(self, record: Record) -> None:
        self.record = record

    def came_in_turn(self, address: str) -> None:
        """Of the files of a folder none overtakes another one, and none is imported twice."""
        rows = self.record.ask(IMPORTED, (address,))
        done = [int(re.findall(r"\d+", name)[0]) for name, state, *_ in rows if state == DONE]
        if done != sorted(set(done)):
            self.record.wrong.append(f"the files of {address} were imported in the order {done}")
        for (before, _, _, ended), (name, _, begun, _) in itertools.pairwise(rows):
            if ended is None or ended > begun:
                self.record.wrong.append(
                    f"{name} was fetched before the import of {before} had ended"
                )

    def came_once(self, address: str, versions: int) -> None:
        """No version of a feed is imported twice."""
        done = sum(state == DONE for _, state, *_ in self.record.ask(IMPORTED, (address,)))
        if done > versions:
            self.record.wrong.append(f"{versions} versions of {address} were imported {done} times")
