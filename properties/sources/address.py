"""Pure: the address of a source, in its parts."""

from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import SplitResult, unquote, urlsplit

from crm_sync.sentence import Sentence, sentence

LONGEST = 500  # characters
FOLDER = "file"
PORTS = {"https": 443, "http": 80, "sftp": 22, "ftps": 21, "ftp": 21}
IMPLICIT_TLS = 990  # the port on which FTPS begins encrypted
_WEB = ("https", "http")


@dataclass(frozen=True)
class Address:
    """The address of a feed.

    Attributes:
        scheme: a key of PORTS, or FOLDER.
        path: the path on the server, unquoted except for web addresses. A folder ends with "/".
        text: the whole address as it was written.
    """

    scheme: str
    host: str
    port: int
    path: str
    text: str

    @property
    def name(self) -> str:
        """The last part of the path, which is the name of the file, or else the host."""
        return PurePosixPath(unquote(self.path.partition("?")[0])).name or self.host

    @property
    def server(self) -> tuple[str, str, int]:
        """The parts that say to whom a password goes."""
        return self.scheme, self.host, self.port

    @property
    def is_encrypted(self) -> bool:
        """Whether the connection to the server is encrypted."""
        return self.scheme in ("https", "sftp", "ftps")


def parsed(text: str) -> Address:
    """Return the parts of an address. A path on this machine begins with a slash.

    Raises:
        ValueError: a source cannot have this address. The message is a `Sentence` with the reason,
            without a capital and a full stop.
    """
    if len(text) > LONGEST:
        raise ValueError(sentence("the address is longer than %(most)s characters", most=LONGEST))
    if text.startswith("/"):
        return Address(FOLDER, "", 0, text, text)
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise ValueError(sentence("the address is not an address")) from None
    if parts.scheme == FOLDER and not parts.netloc:
        return Address(FOLDER, "", 0, unquote(parts.path), text)
    if parts.scheme not in PORTS:
        names = list(PORTS)
        raise ValueError(
            sentence("the address begins with none of %(names)s, and with no slash", names=names)
        )
    if fault := _fault(text, parts):
        raise ValueError(fault)
    path = parts.path if parts.scheme in _WEB else unquote(parts.path)
    query = f"?{parts.query}" if parts.query else ""
    host = parts.hostname or ""
    return Address(parts.scheme, host, port or PORTS[parts.scheme], path + query, text)


def _fault(text: str, parts: SplitResult) -> Sentence | None:
    if not parts.hostname or parts.port == 0:
        return sentence("the address names no host")
    if "@" in parts.netloc:
        return sentence("the address holds a user: user and password have fields of their own")
    if not unquote(text).isprintable():
        return sentence("the address holds a character that cannot be printed")
    if parts.scheme not in _WEB and (parts.query or parts.fragment):
        return sentence("the address holds a ? or a #")
    return None


def shown(text: str) -> str:
    """Return an address without its query, which may have a key."""
    start, mark, _ = text.partition("?")
    return f"{start}?…" if mark else start
