"""Fetch a file from an SFTP server, whose key must be the one that was seen first."""

import base64
import hashlib
import io
import re
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import IO, cast

import paramiko
from paramiko.ssh_exception import IncompatiblePeer

from crm_sync.platform import broken, outside
from crm_sync.sentence import sentence
from properties.sources.fetch.transfer import (
    SILENCE,
    Fetched,
    FileVersion,
    FolderListing,
    Listed,
    Listing,
    Place,
    Sink,
    failed,
    in_time,
    look_again,
    not_connected,
    path_of,
    rejected,
    settled,
    wait_for_upload,
)

_SYSTEM = re.compile(r"\[Errno.*", re.DOTALL)  # the system's message that the library appends
_KEYS = (paramiko.Ed25519Key, paramiko.ECDSAKey, paramiko.RSAKey)


def fetch(place: Place, known: FileVersion, sink: Sink) -> Fetched | None:
    """See `fetch.fetch`."""
    with in_time(sink.check) as end, connected(place, end) as (client, host_key):
        path, beside = path_of(place.address, partial(_names, client, sink))
        found = client.stat(path)
        if stat.S_ISDIR(found.st_mode or 0):
            raise rejected(sentence("the address is that of a folder: end it with a slash"))
        stamp, name = _stamp(found), path.rpartition("/")[2]
        if known.tells and stamp == known:
            return None
        sink.expect(stamp.size)
        if stamp.modified:
            wait_for_upload(name, float(stamp.modified), time.time())
        client.getfo(path, cast("IO[bytes]", sink), max_concurrent_prefetch_requests=64)
        look_again(name, stamp, _stamp(client.stat(path)))
        sink.finish(stamp.size)
    return Fetched(name, settled(stamp, time.time()), host_key, beside)


def listing(place: Place, check: Callable[[], float]) -> Listing:
    """See `fetch.listing`."""
    files: list[Listed] = []
    names = FolderListing(check)
    with in_time(check) as end, connected(place, end) as (client, host_key):
        folder = place.address.path.removeprefix("/")
        for one in client.listdir_iter(folder or ".", read_aheads=1):
            names.add(one.filename)
            if one.st_mode is None or stat.S_ISREG(one.st_mode):
                files.append(Listed(one.filename, _stamp(one)))
    return Listing(tuple(files), host_key)


@contextmanager
def connected(place: Place, end: float) -> Iterator[tuple[paramiko.SFTPClient, str]]:
    """Yield the client of a user who is logged in, and the key of the server.

    Args:
        end: when everything must have ended, on the monotonic clock.

    Raises:
        RejectedError, TransientError: as `fetch.fetch` does, also for what fails in the block.
    """
    with _told(place), closing(_transport(place, end)) as transport:
        host_key = _checked_key(transport, place)
        _log_in(transport, place)
        yield _client(transport), host_key


def fingerprint(host_key: str) -> str:
    """Return a key in the form that people compare: its kind and "SHA256:…", as ssh shows it."""
    kind, _, body = host_key.partition(" ")
    digest = hashlib.sha256(base64.b64decode(body)).digest()
    return f"{kind} SHA256:{base64.b64encode(digest).decode('ascii').rstrip('=')}"


def _transport(place: Place, end: float) -> paramiko.Transport:
    """Connect only to an address that was checked (S13)."""
    one = place.address
    connection = outside.connect(one.host, one.port, place.inside, timeout=SILENCE, end=end)
    transport = paramiko.Transport(connection)
    transport.banner_timeout = transport.auth_timeout = transport.channel_timeout = SILENCE
    if place.host_key:  # a server has several keys: request the one that is known
        options = transport.get_security_options()
        kind = place.host_key.partition(" ")[0]
        options.key_types = [k for k in options.key_types if _family(k) == _family(kind)]
    try:
        transport.start_client(timeout=SILENCE)
    except BaseException:
        transport.close()
        raise
    return transport


def _family(kind: str) -> str:
    return "ssh-rsa" if kind.startswith("rsa-sha2") else kind


def _checked_key(transport: paramiko.Transport, place: Place) -> str:
    """Return the key of the server, after comparing it. No password is sent before.

    Raises:
        RejectedError: the server has another key than before.
    """
    key = transport.get_remote_server_key()
    shown = f"{key.get_name()} {key.get_base64()}"
    if place.host_key and shown != place.host_key:
        text = sentence(
            "%(host)s shows another key than before: %(new)s, not %(old)s. Ask its owner; if it is"
            " right, forget the old key",
            host=place.address.host,
            new=fingerprint(shown),
            old=fingerprint(place.host_key),
        )
        raise rejected(text)
    return shown


def _log_in(transport: paramiko.Transport, place: Place) -> None:
    try:
        if place.secret.lstrip().startswith("-----BEGIN"):
            transport.auth_publickey(place.user, _private_key(place.secret))
        elif place.secret:
            transport.auth_password(place.user, place.secret)
        else:
            transport.auth_none(place.user)
    except paramiko.AuthenticationException as error:
        text = sentence(
            "%(host)s does not accept the user and the password or key", host=place.address.host
        )
        raise rejected(text) from error


def _client(transport: paramiko.Transport) -> paramiko.SFTPClient:
    client = paramiko.SFTPClient.from_transport(transport)
    channel = client.get_channel() if client is not None else None
    if client is None or channel is None:
        raise failed(sentence("the server opens no channel"))
    channel.settimeout(SILENCE)
    return client


def _stamp(found: paramiko.SFTPAttributes) -> FileVersion:
    return FileVersion(modified=str(found.st_mtime or ""), size=found.st_size)


def _names(client: paramiko.SFTPClient, sink: Sink, folder: str) -> list[str]:
    names = FolderListing(sink.check)
    # One request at a time: the answers to several may arrive in another order.
    for one in client.listdir_iter(folder or ".", read_aheads=1):
        names.add(one.filename)
    return names.found


def _private_key(text: str) -> paramiko.PKey:
    for kind in _KEYS:
        try:
            return kind.from_private_key(io.StringIO(text))
        except paramiko.PasswordRequiredException as error:
            text = sentence("the private key has a password: store one without")
            raise rejected(text) from error
        except (paramiko.SSHException, ValueError):
            continue
    raise rejected(
        sentence("the private key cannot be read: Ed25519, ECDSA or RSA in PEM is needed")
    )


@contextmanager
def _told(place: Place) -> Iterator[None]:
    host = place.address.host
    try:
        yield
    except IncompatiblePeer as error:
        text = sentence(
            "%(host)s and we have no way to encrypt in common: %(reason)s",
            host=host,
            reason=str(error),
        )
        raise rejected(text) from error
    except FileNotFoundError as error:
        text = sentence("nothing is at this address: %(path)s", path=place.address.path)
        raise rejected(text) from error
    except PermissionError as error:
        text = sentence(
            "%(host)s does not let the user read %(path)s", host=host, path=place.address.path
        )
        raise rejected(text) from error
    except UnicodeDecodeError as error:
        raise rejected(sentence("a name on %(host)s is not in UTF-8", host=host)) from error
    except (paramiko.SSHException, paramiko.SFTPError) as error:
        said = _SYSTEM.sub("", str(error)).strip()
        raise not_connected(host, said or broken.why(error)) from error
    except (EOFError, OSError) as error:
        raise not_connected(host, broken.why(error)) from error
