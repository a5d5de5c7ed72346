"""The folder of the scene to which somebody delivers files, each of which is imported in turn."""

import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

from lab.world import runtime
from lab.world.judge import DELIVERED, Judge
from lab.world.network import nothing
from lab.world.scheduler import Scheduler

FOLDER = "deliveries"
ADDRESS = f"file:{FOLDER}/"  # below the folder in which the processes run
MENDED = 60.0  # seconds at most until a file that was cut off comes once more


class Deliveries:
    """Files with rising numbers; each changes one field of all properties that are there."""

    def __init__(self, world: Scheduler, judge: Judge, folder: Path) -> None:
        self.world, self.judge, self.folder = world, judge, folder / FOLDER
        self.folder.mkdir()
        self.files: list[bytes] = []

    def deliver(self, name: str) -> None:
        """Write the next file, or only half of it; now and then write the last one once more."""
        if self.files and self.world.happens(f"{name} again", 0.3):
            self.write_again()
            return
        mend = self.write(name, is_half=self.world.happens(f"{name} half", 0.4))
        moment = self.world.now + MENDED * self.world.share(f"{name} mended")
        self.world.at(moment, mend)

    def write_again(self) -> None:
        """Write the last file once more, as it was."""
        self.world.tell("the last file is written once more")
        self._put(len(self.files), self.files[-1])

    def write(self, name: str, *, is_half: bool = False) -> Callable[[], None]:
        """Write the next file, or only half of it; return what writes it whole."""
        value = 1 + len(self.files)
        references = self.judge.a_feed_brings(DELIVERED, value)
        lines = [f"objectReferenceId,{DELIVERED}", *(f"{one},{value}" for one in references)]
        whole = _zip("\n".join(lines))
        self.files.append(whole)
        self.world.tell(f"{name}: file {value} is delivered for {', '.join(references)}")
        if not is_half:
            self._put(value, whole)
            return nothing
        self._put(value, whole[: len(whole) // 2])
        return lambda: self._put(value, whole)

    def _put(self, number: int, content: bytes) -> None:
        """Let a whole file appear at once, as old as the world."""
        written, path = self.folder / ".part", self.folder / f"{number}.zip"
        written.write_bytes(content)
        at = runtime.EPOCH.timestamp() + self.world.now
        os.utime(written, (at, at))
        written.rename(path)


def _zip(text: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(zipfile.ZipInfo("feed.csv"), text)
    return packed.getvalue()
