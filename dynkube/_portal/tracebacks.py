"""Shorter tracebacks for calls from other threads: without the frames of the event loop."""

from __future__ import annotations

from types import TracebackType
from typing import Final

from dynkube._logs import get_logger
from dynkube.errors import DynkubeError

_log = get_logger("dynkube.thread")

_INNER: Final = frozenset(
    {
        "dynkube",
        "trio",
        "anyio",
        "outcome",
        "httpx2",
        "httpcore2",
        "asyncio",
        "concurrent",
        "contextlib",
        "ssl",
        "socket",
    }
)


def shorten(error: BaseException, *, wholly: bool = False) -> None:
    """Remove library frames from an error's traceback.

    Causes whose traceback has only such frames are removed, too. Fifty lines of event loop and HTTP do not help in a
    notebook, and the message names the causes. Frames of user code (a filter, a handler) stay. Errors other than
    DynkubeError are left unchanged, as they may be bugs. The full traceback is logged at level DEBUG.

    Args:
        error: the exception that the call raised.
        wholly: shorten errors of any class.
    """
    if not (wholly or isinstance(error, DynkubeError)):
        return
    _log.debug("a call in the trio thread raised", exc_info=error)
    link, *causes = _chain(error)
    link.__traceback__ = without_libraries(link.__traceback__)
    for cause in causes:
        cause.__traceback__ = without_libraries(cause.__traceback__)
        if cause.__traceback__ is not None:
            link.__cause__ = cause
            link = cause
    link.__cause__ = None  # also sets __suppress_context__


def _chain(error: BaseException) -> list[BaseException]:
    chain: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in chain:
        chain.append(link)
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return chain


def without_libraries(traceback: TracebackType | None) -> TracebackType | None:
    """Return the traceback with user frames only.

    Not recursive, as tracebacks may exceed the recursion limit.
    """
    kept: list[TracebackType] = []
    while traceback is not None:
        module: object = traceback.tb_frame.f_globals.get("__name__", "")
        if str(module).partition(".")[0] not in _INNER:
            kept.append(traceback)
        traceback = traceback.tb_next
    own: TracebackType | None = None
    for each in reversed(kept):
        own = TracebackType(own, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return own
