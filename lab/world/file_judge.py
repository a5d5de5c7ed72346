"""Judges the files of orders that were downloaded: each one is there completely (I27)."""

from urllib.parse import urlsplit

from lab.world.record import Record
from sandbox.state import deliverables


class FileJudge:
    """What is in the storage, which is a folder of the processes."""

    def __init__(self, record: Record) -> None:
        self.record = record

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
