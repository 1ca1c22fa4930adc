"""Loggers that sanitize records: single lines of limited length.

This holds whatever server text the records contain.
"""

from __future__ import annotations

import logging

from dynkube._server_text import MOST_IN_A_LINE, sanitized


class _OneLine(logging.Filter):
    """Rewrites records with control characters, or with too much text for a log."""

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        if len(text) > MOST_IN_A_LINE or not text.isprintable():
            record.msg, record.args = sanitized(text), ()
        return True


def get_logger(name: str) -> logging.Logger:
    """Return the logger of that name, with the filter.

    Tracebacks (``exc_info``) keep their lines.
    """
    logger = logging.getLogger(name)
    if not any(isinstance(each, _OneLine) for each in logger.filters):
        logger.addFilter(_OneLine())
    return logger
