"""Judges the files of orders: each one is stored completely (I27), and once at the target."""

import hashlib
from urllib.parse import urlsplit

from lab.world.record import Record
from sandbox.state import deliverables

# Files of somebody else at the target, under the names that ours would have.
FOREIGN = {f"{reference}/ground_photo/01.png": b"of somebody else" for reference in ("R-1", "R-3")}


class FileJudge:
    """What is in the storage, which is a folder of the processes, and at the target.

    Attributes:
        at_target: the files there by path.
    """

    def __init__(self, record: Record) -> None:
        self.record = record
        self.at_target: dict[str, bytes] = dict(FOREIGN)

    def are_complete(self) -> None:
        """Each file that was stored has the bytes of the platform, and each address was fetched."""
        rows = self.record.ask(
            "select one.name, case one.role when 'FILE' then url else thumbnail_url end,"
            " one.problem from orders_materialfile as one"
            " join orders_material as material on material.id = one.material_id"
        )
        for name, url, problem in rows:
            *_, key, size, file_name = urlsplit(url).path.split("/")
            wanted = deliverables.content(key, size, file_name)
            path = self.record.database.parent / "materials" / name
            if not name:
                self.record.wrong.append(f"the file {file_name} is not stored: {problem} (I27)")
            elif not path.exists() or path.read_bytes() != wanted:
                self.record.wrong.append(f"the file {file_name} is stored as another one (I27)")

    def are_uploaded(self) -> None:
        """Each stored file is at the target, whole and once, and nothing of others is gone."""
        rows = self.record.ask("select name, digest, problem from orders_targetfile")
        wanted = {name: digest for name, digest, _ in rows}
        there = {
            name: hashlib.sha256(content).hexdigest()
            for name, content in self.at_target.items()
            if name not in FOREIGN and not name.endswith(".part")
        }
        if there != wanted:
            self.record.wrong.append(f"the target has {there}, and our rows say {rows}")
        if FOREIGN.items() - self.at_target.items():
            self.record.wrong.append("a file of somebody else at the target was replaced")
        query = "select count(*) from orders_materialfile where role = 'FILE' and workspace_id = 1"
        stored = self.record.ask(query)  # the neighbour has no target
        if stored != [(len(rows),)]:
            self.record.wrong.append(f"of {stored} files {len(rows)} are for the target")
