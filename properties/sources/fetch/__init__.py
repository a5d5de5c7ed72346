"""Fetch a file completely if it differs from the last one.

web_server  HTTP(S), and the authentication of a request
ftp         FTP and FTPS
sftp        SFTP, with a check of the host key
folder      a folder of this machine
transfer    the parts that all of them share
"""

from collections.abc import Callable, Mapping

from properties.sources.fetch import folder, ftp, sftp, web_server
from properties.sources.fetch.transfer import Fetched, FileVersion, Listing, Place, Sink

Fetcher = Callable[[Place, FileVersion, Sink], Fetched | None]
Lister = Callable[[Place, Callable[[], float]], Listing]

_FETCHERS: Mapping[str, Fetcher] = {
    "http": web_server.fetch,
    "https": web_server.fetch,
    "ftp": ftp.fetch,
    "ftps": ftp.fetch,
    "sftp": sftp.fetch,
    "file": folder.fetch,
}
_LISTERS: Mapping[str, Lister] = {
    "ftp": ftp.listing,
    "ftps": ftp.listing,
    "sftp": sftp.listing,
    "file": folder.listing,
}
FOLDERS = frozenset(_LISTERS)  # the schemes that have folders


def fetch(place: Place, known: FileVersion, sink: Sink) -> Fetched | None:
    """Write the file of a place into the sink; write nothing and return None if it is unchanged.

    Args:
        known: the version that was fetched last, as its server described it.

    Raises:
        RejectedError: a person must change something first: the address, the password, a setting.
        TransientError: the next try may succeed.
    """
    return _FETCHERS[place.address.scheme](place, known, sink)


def listing(place: Place, check: Callable[[], float]) -> Listing:
    """Return the files in the folder of a place, whose scheme is one of FOLDERS.

    Args:
        check: see `Sink`.

    Raises:
        RejectedError: a person must change something first.
        TransientError: the next try may succeed.
    """
    return _LISTERS[place.address.scheme](place, check)
