"""What all judges of the scene share: the sandbox, the tables, and what is wrong."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from lab.world.scheduler import Scheduler
from sandbox.app import Sandbox


class Record:
    """What is there, past our models.

    Attributes:
        wrong: the promises that were broken, in words.
    """

    def __init__(self, world: Scheduler, box: Sandbox, database: Path) -> None:
        self.world, self.box, self.database = world, box, database
        self.wrong: list[str] = []
        self._connection: sqlite3.Connection | None = None

    @property
    def url(self) -> str:
        return f"sqlite:///{self.database}"

    def backup(self) -> Path:
        """Copy the database as it is now."""
        path = self.database.with_suffix(".backup")
        with (
            closing(sqlite3.connect(self.database)) as ours,
            closing(sqlite3.connect(path)) as copy,
        ):
            ours.backup(copy)
        return path

    def restore(self, backup: Path) -> None:
        """Put a backup in the place of the database, of which no process is left."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        for name in ("-wal", "-shm"):
            self.database.with_name(self.database.name + name).unlink(missing_ok=True)
        shutil.copy(backup, self.database)

    def there(self, reference: str) -> dict[str, Any]:
        """Return what the platform has of a property; {} if it has none."""
        return dict(self.box.workspace.properties.by_reference(reference) or {})

    def ask(self, query: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """Read the database past Django, by one connection, since it is read after each commit."""
        if self._connection is None:
            uri = f"file:{self.database}?mode=ro"
            self._connection = sqlite3.connect(uri, uri=True, timeout=5)
        return self._connection.execute(query, values).fetchall()

    def is_locked(self) -> bool:
        """Return whether a transaction has the lock of the database."""
        try:
            self.write("update crm_sync_workspace set slug = slug")
        except sqlite3.OperationalError:
            return True
        return False

    def write(self, change: str, values: tuple[Any, ...] = ()) -> None:
        """Write what a wrong clock, a backup or a person with the database's shell may write.

        Raises:
            sqlite3.OperationalError: the database is locked.
        """
        with closing(sqlite3.connect(self.database, timeout=0)) as connection, connection:
            connection.execute(change, values)

    def messages(self, what: str, format_: str, more: str = "") -> list[tuple[Any, ...]]:
        """Read columns of the messages of the subscriptions with a format."""
        return self.ask(
            f"select {what} from crm_sync_outgoingmessage where subscription_id in"
            f" (select id from crm_sync_subscription where format = ?) {more}",
            (format_,),
        )
