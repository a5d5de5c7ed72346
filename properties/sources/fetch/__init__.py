"""A file is fetched, if it is another than the last one: whole, or not at all.

web_server  HTTP(S), and how a request shows who sends it
ftp         FTP and FTPS
sftp        SFTP, with the key of the host
folder      a folder of this machine
transfer    what all of them share
"""

from collections.abc import Callable, Mapping

from properties.sources.fetch import folder, ftp, sftp, web_server
from properties.sources.fetch.transfer import Fetched, FileVersion, Place, Sink

Fetcher = Callable[[Place, FileVersion, Sink], Fetched | None]

_FETCHERS: Mapping[str, Fetcher] = {
    "http": web_server.fetch,
    "https": web_server.fetch,
    "ftp": ftp.fetch,
    "ftps": ftp.fetch,
    "sftp": sftp.fetch,
    "file": folder.fetch,
}


def fetch(place: Place, known: FileVersion, sink: Sink) -> Fetched | None:
    """Write the file of a place into the sink; None, and nothing written, where it is unchanged.

    Args:
        known: the version of the file that was fetched last, by its server; see `FileVersion`.

    Raises:
        RejectedError: a person must change something first: the address, the password, a setting.
        TransientError: it may come at the next try.
    """
    return _FETCHERS[place.address.scheme](place, known, sink)
