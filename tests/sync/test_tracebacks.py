"""Errors of blocking calls have short tracebacks, without the frames of the event loop."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable

import pytest

import dynkube.sync
from dynkube.errors import ConnectFailed, InvalidInput, NotFound
from tests.sync.kit import CONFIGMAPS

pytestmark = pytest.mark.real_time


def _files(error: BaseException | None) -> list[str]:
    return [frame.filename for frame in traceback.extract_tb(error.__traceback__ if error else None)]


def test_the_traceback_of_an_error_response_has_only_the_call(k: dynkube.sync.Client) -> None:
    with pytest.raises(NotFound) as caught:
        k.resource(CONFIGMAPS).get("none")

    files = _files(caught.value)
    assert files[0] == __file__
    assert [name for name in files if "/trio/" in name or "/anyio/" in name or "/rest/" in name] == []


def test_the_traceback_of_a_connection_failure_is_short() -> None:
    with dynkube.sync.connect(url="http://127.0.0.1:9") as k, pytest.raises(ConnectFailed) as caught:
        k.resource(CONFIGMAPS).list()

    assert len("".join(traceback.format_exception(caught.value)).splitlines()) < 25


def test_frames_of_a_users_function_are_kept(k: dynkube.sync.Client) -> None:
    def broken(obj: dynkube.Unstructured) -> bool:
        raise InvalidInput("this is mine")

    with pytest.raises(InvalidInput) as caught:
        k.resource("namespaces").wait_for("default", broken)

    assert _files(caught.value)[-1] == __file__


def test_the_cause_of_an_error_in_a_users_function_is_kept(k: dynkube.sync.Client) -> None:
    mine = LookupError("this is mine")
    between = ValueError("raised nowhere in the user's code")

    def broken(obj: dynkube.Unstructured) -> bool:
        try:
            raise mine
        except LookupError as cause:
            between.__cause__ = cause
        raise InvalidInput("this is mine, too") from between

    with pytest.raises(InvalidInput) as caught:
        k.resource("namespaces").wait_for("default", broken)

    assert (caught.value.__cause__, mine.__cause__) == (mine, None)


def test_an_unexpected_argument_raises_the_usual_type_error(k: dynkube.sync.Client) -> None:
    with pytest.raises(TypeError, match=r"^get\(\) got an unexpected keyword argument 'labels'") as caught:
        k.get("pods", labels="app=web")  # type: ignore[call-overload]  # the mistake under test

    assert [name for name in _files(caught.value) if name.endswith("_call.py")] == []


def broken(obj: dynkube.Unstructured) -> None:
    raise LookupError("this is mine")


def endless(obj: dynkube.Unstructured) -> None:
    endless(obj)


@pytest.mark.parametrize("handler", [broken, endless])
def test_a_failing_handler_is_logged_without_the_frames_of_threads(
    k: dynkube.sync.Client, caplog: pytest.LogCaptureFixture, handler: Callable[[dynkube.Unstructured], None]
) -> None:
    with caplog.at_level(logging.ERROR, "dynkube.informers"):
        k.informer("namespaces").add_handler(on_add=handler).wait_synced(timeout=10)

    error = next(record.exc_info[1] for record in caplog.records if record.exc_info)
    assert "/trio/" not in "".join(_files(error))
    assert _files(error)[-1] == __file__


def test_a_foreign_exception_keeps_its_whole_traceback(k: dynkube.sync.Client) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        k.resource("namespaces").wait_for("default", lambda obj: 1 // 0 == 1)

    assert [name for name in _files(caught.value) if "/client/" in name]
