"""The target of the scene: a server with WebDAV, where files of orders are uploaded."""

from urllib.parse import unquote, urlsplit

from lab.world.judge import Judge
from lab.world.network import Delivery, refusing
from lab.world.process import Answer, Environ
from lab.world.scheduler import Scheduler, Thread

HOST = "target.test"
ADDRESS = f"https://{HOST}/in/"


class Target:
    """It has files by path, and some of them are of somebody else."""

    def __init__(self, world: Scheduler, judge: Judge) -> None:
        self.world, self.files = world, judge.files.at_target

    def receive(self, name: str, thread: Thread, environ: Environ, content: bytes) -> Delivery:
        """See `Host`."""
        path = environ["PATH_INFO"].encode("latin-1").decode().removeprefix("/in/")
        what = f"{environ['REQUEST_METHOD']} {path} of {thread.name}"

        refuse = refusing(self.world, ("500 No", "503 No"))
        return Delivery(what, 0.03, lambda: self._answer(path, environ, content), refuse)

    def _answer(self, path: str, environ: Environ, content: bytes) -> Answer:
        status = "404 Not Found"
        match environ["REQUEST_METHOD"]:
            case "PROPFIND" if not path or path in self.files:
                status = "207 Multi-Status"
            case "MKCOL":
                status = "201 Created"
            case "PUT":
                self.files[path] = content
                status = "201 Created"
            case "MOVE" if path in self.files:
                name = unquote(urlsplit(environ["HTTP_DESTINATION"]).path).removeprefix("/in/")
                self.files[name] = self.files.pop(path)
                status = "201 Created"
            case "DELETE" if path in self.files:
                del self.files[path]
                status = "204 No Content"
        return status, [], b""
