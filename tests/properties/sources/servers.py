"""Real servers on the loopback that serve a folder: FTP, FTPS, SFTP."""

import errno
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import paramiko
from pyftpdlib.authorizers import DummyAuthorizer
from pyftpdlib.handlers import DTPHandler, FTPHandler, TLS_FTPHandler
from pyftpdlib.ioloop import IOLoop
from pyftpdlib.servers import FTPServer

from tests.crm_sync.sockets import saying

USER, PASSWORD = "agency", "s3cret word"


@contextmanager
def ftp_server(
    folder: Path,
    *,
    certificate: Path | None = None,
    cut_after: int | None = None,
    dies: bool = True,
    is_writable: bool = False,
    **handled: object,
) -> Iterator[int]:
    """Serve a folder; yields the port.

    Args:
        certificate: for FTPS, a file with the key and the certificate.
        cut_after: bytes of a file after which the data connection breaks off.
        dies: whether all of the server goes with it; else it says that the file was whole.
        handled: attributes of pyftpdlib's handler, such as `encoding` or `ftp_SIZE`.
    """
    authorizer = DummyAuthorizer()
    authorizer.add_user(USER, PASSWORD, str(folder), perm="elradfmw" if is_writable else "elr")
    base = TLS_FTPHandler if certificate else FTPHandler
    names: dict[str, object] = {"authorizer": authorizer, "use_sendfile": False}
    names |= handled
    names["auth_failed_timeout"] = 0  # seconds that whoever guesses has to wait
    if certificate:
        names |= {"certfile": str(certificate), "tls_control_required": True}
        names |= {"tls_data_required": True, "ssl_context": None}
    if cut_after is not None:
        names["dtp_handler"] = type("Cut", (_Cut,), {"left": cut_after, "dies": dies})
    handler = type("Handler", (base,), names)
    loop = IOLoop()
    server = FTPServer(("127.0.0.1", 0), handler, ioloop=loop)
    stopped = threading.Event()

    def serve() -> None:
        while not stopped.is_set():
            loop.loop(timeout=0.02, blocking=False)
        server.close_all()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield server.address[1]
    finally:
        stopped.set()
        thread.join(5)


@contextmanager
def _listening(accept: Callable[[socket.socket], None]) -> Iterator[int]:
    """Let a thread accept from a listener as long as the test lasts; yields the port."""
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=accept, args=(listener,), daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.close()


@contextmanager
def greeting(pieces: Iterable[bytes], pause: float = 0.0) -> Iterator[int]:
    """Send these to whoever connects, with pauses in between, and close; yields the port."""

    def greet(listener: socket.socket) -> None:
        try:
            connection, _ = listener.accept()
            with connection:
                saying(*pieces, pause=pause)(connection)
        except OSError:
            pass  # the client went away, which is what some tests are about

    with _listening(greet) as port:
        yield port


def listing(pieces: Iterable[bytes], pause: float = 0.0) -> Callable[[FTPHandler, str], None]:
    """Return an `ftp_NLST` that answers with these, and waits before each."""

    class Producer:
        def __init__(self) -> None:
            self._left = iter(pieces)

        def more(self) -> bytes:
            time.sleep(pause)
            return next(self._left, b"")

    def nlst(handler: FTPHandler, path: str) -> None:
        handler.push_dtp_data(Producer(), isproducer=True, cmd="NLST")

    return nlst


class _Cut(DTPHandler):
    """A data connection that breaks off, as that of a server that dies."""

    left = 0
    dies = True

    def push_with_producer(self, producer: object) -> None:
        data = producer.more()[: self.left]  # type: ignore[attr-defined]
        self.socket.sendall(data)
        if self.dies:
            self.socket.close()
            self.cmd_channel.socket.shutdown(socket.SHUT_RDWR)
        else:
            self._resp = ("226 Transfer complete.", None)
            self.close()


@contextmanager
def sftp_server(
    folder: Path,
    *,
    key: paramiko.PKey | None = None,
    known: paramiko.PKey | None = None,
    cut_after: int | None = None,
    listed: Callable[[], Iterable[str | bytes]] | None = None,
    asked: Callable[[str, str], None] | None = None,
) -> Iterator[int]:
    """Serve a folder; yields the port.

    Args:
        key: of the host; known: the public key by which the user may log in, too.
        cut_after: bytes after which the connection breaks off.
        listed: returns the names that each folder has instead of its own.
        asked: makes the folder writable; called before each change with its kind and the path. An
            OSError of it is the answer.
    """
    host_key = key or host_keys()[0]
    transports: list[paramiko.Transport] = []

    def accept(listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            transport = paramiko.Transport(connection)
            transport.add_server_key(host_key)
            transport.set_subsystem_handler(
                "sftp", paramiko.SFTPServer, _Files, folder, cut_after, connection, listed, asked
            )
            transports.append(transport)
            try:
                transport.start_server(server=_Login(known))
            except (paramiko.SSHException, EOFError, OSError):
                continue  # the client went away, which is what some tests are about

    try:
        with _listening(accept) as port:
            yield port
    finally:
        for transport in transports:
            transport.close()


def host_keys() -> tuple[paramiko.PKey, paramiko.PKey]:
    """Return two keys of one kind; made once, since that takes a while."""
    if not _keys:
        _keys.extend(paramiko.ECDSAKey.generate() for _ in range(2))
    return _keys[0], _keys[1]


_keys: list[paramiko.PKey] = []


def _named(name: str | bytes) -> paramiko.SFTPAttributes:
    found = paramiko.SFTPAttributes()
    found.filename = name
    return found


class _Login(paramiko.ServerInterface):
    def __init__(self, known: paramiko.PKey | None) -> None:
        self._known = known

    def check_auth_password(self, username: str, password: str) -> int:
        is_right = (username, password) == (USER, PASSWORD)
        return paramiko.AUTH_SUCCESSFUL if is_right else paramiko.AUTH_FAILED

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        is_right = username == USER and key == self._known
        return paramiko.AUTH_SUCCESSFUL if is_right else paramiko.AUTH_FAILED

    def get_allowed_auths(self, username: str) -> str:
        return "password,publickey"

    def check_channel_request(self, kind: str, chanid: int) -> int:
        return paramiko.OPEN_SUCCEEDED


class _File(paramiko.SFTPHandle):
    left: int | None = None
    connection: socket.socket

    def stat(self) -> paramiko.SFTPAttributes:
        return paramiko.SFTPAttributes.from_stat(os.fstat(self.readfile.fileno()))

    def read(self, offset: int, length: int) -> bytes | int:
        if self.left is not None and offset + length > self.left:
            self.connection.shutdown(socket.SHUT_RDWR)
        return super().read(offset, length)


class _Files(paramiko.SFTPServerInterface):
    def __init__(
        self,
        server: paramiko.ServerInterface,
        folder: Path,
        cut_after: int | None,
        connection: socket.socket,
        listed: Callable[[], Iterable[str | bytes]] | None,
        asked: Callable[[str, str], None] | None,
    ) -> None:
        super().__init__(server)
        self._asked = asked
        self._listed = listed
        self._folder, self._cut_after, self._connection = folder, cut_after, connection

    def _local(self, path: str) -> Path:
        return self._folder / self.canonicalize(path).lstrip("/")

    def list_folder(self, path: str) -> list[paramiko.SFTPAttributes] | int:
        if self._listed is not None:
            return [_named(name) for name in self._listed()]
        try:
            return [
                paramiko.SFTPAttributes.from_stat(one.stat(), one.name)
                for one in self._local(path).iterdir()
            ]
        except OSError as error:
            return int(paramiko.SFTPServer.convert_errno(error.errno or 0))

    def stat(self, path: str) -> paramiko.SFTPAttributes | int:
        try:
            return paramiko.SFTPAttributes.from_stat(self._local(path).stat())
        except OSError as error:
            return int(paramiko.SFTPServer.convert_errno(error.errno or 0))

    def _changed(self, kind: str, path: str, change: Callable[[Path], object]) -> int:
        if self._asked is None:
            return paramiko.SFTP_PERMISSION_DENIED
        try:
            self._asked(kind, path)
            change(self._local(path))
        except OSError as error:
            return int(paramiko.SFTPServer.convert_errno(error.errno or 0))
        return paramiko.SFTP_OK

    def remove(self, path: str) -> int:
        return self._changed("remove", path, Path.unlink)

    def mkdir(self, path: str, attr: object) -> int:
        return self._changed("mkdir", path, Path.mkdir)

    def rename(self, oldpath: str, newpath: str) -> int:
        def change(old: Path) -> None:
            if self._local(newpath).exists():
                raise FileExistsError(errno.EEXIST, "it is there")
            old.rename(self._local(newpath))

        return self._changed("plain rename", oldpath, change)

    def posix_rename(self, oldpath: str, newpath: str) -> int:
        return self._changed("rename", oldpath, lambda old: old.replace(self._local(newpath)))

    def _written(self, path: str, flags: int) -> paramiko.SFTPHandle | int:
        found: list[paramiko.SFTPHandle] = []

        def change(local: Path) -> None:
            handle = paramiko.SFTPHandle(flags)
            handle.writefile = local.open("xb")  # type: ignore[attr-defined]
            found.append(handle)

        status = self._changed("open", path, change)
        return found[0] if found else status

    def open(self, path: str, flags: int, attr: object) -> paramiko.SFTPHandle | int:
        if flags & os.O_WRONLY:
            return self._written(path, flags)
        try:
            file = self._local(path).open("rb")
        except OSError as error:
            return int(paramiko.SFTPServer.convert_errno(error.errno or 0))
        handle = _File(flags)
        handle.filename, handle.readfile = path, file  # type: ignore[attr-defined]
        handle.left, handle.connection = self._cut_after, self._connection
        return handle
