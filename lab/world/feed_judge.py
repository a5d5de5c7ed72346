"""Judges the feeds: each version is imported once, and those that are delivered in their order."""

import itertools
import re

from lab.world.record import Record

IMPORTED = (
    "select one.name, one.uploaded_at, one.ended_at, source.address, one.state, one.total"
    " from properties_import as one join properties_source as source on source.id = one.source_id"
    " where one.stored_as <> '' order by one.id"
)


class FeedJudge:
    """What became of the files of sources."""

    def __init__(self, record: Record) -> None:
        self.record = record

    def came_in_turn(self, address: str) -> None:
        """Of the files of a folder none overtakes another one, and none is imported twice."""
        rows = [row for row in self.record.ask(IMPORTED) if row[3] == address]
        done = [int(re.findall(r"\d+", row[0])[0]) for row in rows if row[4] == "DONE"]
        if done != sorted(set(done)):
            self.record.wrong.append(f"the files of {address} were imported in the order {done}")
        for before, after in itertools.pairwise(rows):
            if before[2] is None or before[2] > after[1]:
                self.record.wrong.append(
                    f"{after[0]} was fetched before the import of {before[0]} had ended"
                )

    def came_once(self, address: str, versions: int) -> None:
        """No version of a feed is imported twice."""
        rows = [row for row in self.record.ask(IMPORTED) if row[3] == address]
        done = sum(row[4] == "DONE" for row in rows)
        if done > versions:
            self.record.wrong.append(f"{versions} versions of {address} were imported {done} times")
