"""Log records on stderr, as text or JSON."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Final, Literal

from dynkube._text.tables import printable
from dynkube.cli._flags import in_flags
from dynkube.cli._notes import note

LogFormat = Literal["text", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]

# What a record has besides the fields that ``extra=`` gave it.
_OWN: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def log_to_stderr(level: LogLevel, style: LogFormat) -> None:
    """Send the records of all loggers to stderr.

    Args:
        level: the least severe level.
        style: lines of text, or one JSON object a line.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JSONLines() if style == "json" else logging.Formatter(_TEXT))
    logging.basicConfig(level=level.upper(), handlers=[handler])
    logging.getLogger("httpx2").setLevel(logging.WARNING)  # a record for each request, which dynkube.rest has as well


class _Notes(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        note(f"{record.levelname.lower()}: {printable(in_flags(record.getMessage()))}")


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Print what the library logs as a warning or an error as a line of the command, while the block runs."""
    logger, handler = logging.getLogger("dynkube"), _Notes(logging.WARNING)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


_TEXT: Final = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"


class JSONLines(logging.Formatter):
    """A record as a JSON object: time, level, logger, message, the fields of ``extra=``, and the traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line."""
        fields: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        fields |= {name: value for name, value in vars(record).items() if name not in _OWN}
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        if record.stack_info:
            fields["stack"] = record.stack_info
        return json.dumps(fields, default=str)
