"""Pure: which file of a ZIP or a folder is the feed.

IDX is delivered as `data/unload.txt` with the pictures in folders beside it.
"""

import re
from collections.abc import Collection
from pathlib import PurePosixPath

IDX = "data/unload.txt"
_FEEDS = frozenset({".txt", ".csv", ".tsv", ".xml", ".json", ".xlsx", ".idx", ".zip", ".gz"})
_HIDDEN = re.compile(r"(^|/)(\.|__MACOSX/)")
NAMED = 5  # of the files that could be the feed


def the_feed(names: Collection[str]) -> str:
    """Return the name of the feed among the names of files, with slashes between folders.

    Raises:
        ValueError: there is none, or several could be it.
    """
    shown = sorted(name for name in names if not _HIDDEN.search(name))
    if found := [name for name in shown if f"/{name.lower()}".endswith(f"/{IDX}")]:
        return _only(found)
    return _only([name for name in shown if PurePosixPath(name).suffix.lower() in _FEEDS])


def _only(found: list[str]) -> str:
    if not found:
        raise ValueError(f"holds neither {IDX} nor another feed")
    if len(found) > 1:
        more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
        raise ValueError(f"holds several feeds: {', '.join(found[:NAMED])}{more}")
    return found[0]
