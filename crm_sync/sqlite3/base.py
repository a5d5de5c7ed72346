"""The threads of a worker write to SQLite one after the other, without a pause between them.

SQLite allows one writer. A second one sleeps up to a tenth of a second before it tries again, so
many threads would sleep while no thread writes. Here each thread is woken when it is its turn.
"""

import threading
from typing import Any

from django.db.backends.sqlite3 import base

PATIENCE = 20.0  # seconds; after that a thread writes without the lock, and SQLite decides
WRITES = ("INSERT", "UPDATE", "DELETE")

_line = threading.Lock()  # the writer holds it; one is enough for one database


class Cursor(base.SQLiteCursorWrapper):
    """A cursor whose writes outside of a transaction wait in line."""

    def execute(self, query: str, params: Any = None) -> Any:
        """Run a statement; see Django."""
        if self.connection.in_transaction or not query.startswith(WRITES):
            return super().execute(query, params)
        is_held = _line.acquire(timeout=PATIENCE)
        try:
            return super().execute(query, params)
        finally:
            if is_held:
                _line.release()


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection that holds the line from the beginning of a transaction to its end.

    Django's type stubs lack the methods that it overrides.
    """

    _is_held = False

    def create_cursor(self, name: str | None = None) -> Any:
        """Return one of our cursors; see Django."""
        return self.connection.cursor(factory=Cursor)

    def _start_transaction_under_autocommit(self) -> None:
        self._is_held = _line.acquire(timeout=PATIENCE)
        try:
            super()._start_transaction_under_autocommit()  # type: ignore[misc]
        except BaseException:
            self._leave()
            raise

    def _commit(self) -> None:
        super()._commit()  # type: ignore[misc]
        self._leave()  # not after a failed commit, which Django rolls back

    def _rollback(self) -> None:
        try:
            super()._rollback()  # type: ignore[misc]
        finally:
            self._leave()

    def _close(self) -> None:
        try:
            super()._close()  # type: ignore[misc]
        finally:
            self._leave()

    def _leave(self) -> None:
        if self._is_held:
            self._is_held = False
            _line.release()
