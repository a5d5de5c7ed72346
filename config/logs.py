"""One line for each log record, without tokens, whatever input it contains (S4)."""

import json
import logging
from datetime import UTC, datetime
from typing import Any

from crm_sync import tracing
from crm_sync.platform.redaction import NOTHING
from crm_sync.text import in_one_line


class LineFormatter(logging.Formatter):
    """Time, level, logger, id and message in one line; a traceback follows, indented."""

    def __init__(self) -> None:
        super().__init__("{asctime} {levelname} {name}{trace}: {message}", style="{")

    def formatTime(self, record: logging.LogRecord, _: str | None = None) -> str:  # noqa: N802
        """Return the time of a record in our zone, with its difference from UTC."""
        moment = datetime.fromtimestamp(record.created).astimezone()
        return moment.isoformat(sep=" ", timespec="milliseconds")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name of logging
        """Return the line of a record."""
        key = tracing.current().id
        record.trace = f" [{key}]" if key else ""
        return NOTHING.text(in_one_line(super().formatMessage(record)))

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the name of logging
        """Return a traceback whose lines cannot be mistaken for lines of the log."""
        lines = super().formatException(ei).splitlines()
        return "\n".join(f"    {NOTHING.text(in_one_line(line))}" for line in lines)


class WithoutTraceback(logging.Filter):
    """Removes the traceback of an error that is not our fault."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Keep the record, without its traceback."""
        record.exc_info = record.exc_text = None
        return True


class Json(logging.Formatter):
    """One JSON object in one line, for a system that collects logs."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record: time, level, logger, process, message, id, traceback."""
        found = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "process": record.process,
            "message": NOTHING.text(record.getMessage()),
        }
        if key := tracing.current().id:
            found["id"] = key
        if record.exc_info:
            found["exception"] = NOTHING.text(self.formatException(record.exc_info))
        return json.dumps(found)
