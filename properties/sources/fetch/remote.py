"""Where on a server the feed is: at the address, or in the folder that the address names."""

from collections.abc import Callable, Iterable

from properties.sources.address import Address
from properties.sources.fetch.entry import IDX, the_feed
from properties.sources.fetch.wanted import rejected

_OF_LATIN_1 = {0xDC00 + byte: byte for byte in range(0x80, 0x100)}


def path_of(
    address: Address, names_in: Callable[[str], Iterable[str]]
) -> tuple[str, tuple[str, ...]]:
    """Return the path of the file, or of the feed in the folder, and the names beside it.

    A path is relative to where the server begins; after two slashes it begins at its root. A folder
    ends with a slash.

    Args:
        names_in: the names in a folder of the server; "" is where it begins. In what is not UTF-8
            half surrogates stand for bytes; so is it in the path that is returned.

    Raises:
        wanted.Failed: no file of the folder is the feed, or several could be.
    """
    path = address.path.removeprefix("/")
    if path and not path.endswith("/"):
        return path, ()
    names = set(names_in(path))
    data = IDX.partition("/")[0]
    if data in names:
        names |= {f"{data}/{name}" for name in names_in(f"{path}{data}")}
    try:
        name = the_feed(names)
    except ValueError as error:
        raise rejected(shown(f"the folder {error}")) from None
    return f"{path}{name}", tuple(shown(one) for one in sorted(names - {name}))


def shown(text: str) -> str:
    """Return a text as people read it: what is not UTF-8 is taken for Latin-1 (I17)."""
    return text.translate(_OF_LATIN_1)
