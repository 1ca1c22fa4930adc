"""Pytest fixtures with an API server, embedded or real.

Loaded automatically if dynkube-testing is installed. ``api_server`` and ``kube_client`` are for async tests on trio, in
virtual time with ``virtual_time_backend``; ``served_api_server`` and ``api_server_kubeconfig`` are for synchronous
tests and other clients, over TCP. The marker ``api_server`` sets the server's options. docs/testing.md has examples.

``control_plane`` and ``control_plane_kubeconfig`` are a real kube-apiserver with etcd, started once per session from
locally installed binaries. docs/control-plane.md has examples.

The marker ``perturb`` makes an async test a scenario, which is run many times while the program that it starts with
``perturbed`` sees a perturbed cluster. docs/perturbation.md has examples.

Nothing but pytest is imported until a test requests a fixture, so the plugin costs nothing in other projects.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

if TYPE_CHECKING:
    from dynkube._client import Client
    from dynkube_testing import APIServer, ControlPlane
    from dynkube_testing import ServerThread as ServedAPIServer

_MARKER = "api_server"
_ABOUT = (
    f"{_MARKER}(*, load=None, tls=False, **options): options of the fixtures with an embedded API server: manifests to "
    "load (paths are relative to the test's file), whether to serve TLS, and any options of dynkube_testing.APIServer"
)
_PERTURB = "perturb"
_ABOUT_PERTURB = (
    f"{_PERTURB}(*, plans=100, seed=0, **options): run the async test as a scenario of perturbation testing; its "
    "argument perturbed is the dynkube_testing.PerturbedRun, the options are those of dynkube_testing.perturb"
)


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers."""
    config.addinivalue_line("markers", _ABOUT)
    config.addinivalue_line("markers", _ABOUT_PERTURB)


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(
    collector: pytest.Module | pytest.Class, name: str, obj: object
) -> list[pytest.Function] | None:
    """Collect an async test with the marker ``perturb`` as a synchronous one: each run is a trio run of its own."""
    marks = [mark for mark in getattr(obj, "pytestmark", ()) if mark.name == _PERTURB]
    if not marks or not collector.funcnamefilter(name):
        return None
    test = _perturbing(obj, marks[0])
    setattr(collector.obj, name, test)  # where pytest looks it up when it runs the test
    return list(collector._genfunctions(name, test))


def _perturbing(test: object, mark: pytest.Mark) -> Callable[..., None]:
    """Return the test that runs ``test`` as a scenario."""
    if not inspect.iscoroutinefunction(test) or "perturbed" not in inspect.signature(test).parameters:
        raise pytest.UsageError(f"the marker {_PERTURB} is for async tests with an argument 'perturbed'")
    if mark.args:
        raise pytest.UsageError(f"the marker {_PERTURB} accepts only keyword arguments, not {mark.args[0]!r}")

    @functools.wraps(test)
    def perturbing(*args: object, **fixtures: object) -> None:
        from dynkube_testing import perturb

        report = perturb(lambda run: test(*args, **{**fixtures, "perturbed": run}), **mark.kwargs)
        if report.findings:
            pytest.fail(str(report), pytrace=False)

    return perturbing


@pytest.fixture
def perturbed(request: pytest.FixtureRequest) -> None:
    """The :class:`dynkube_testing.PerturbedRun` of an async test with the marker ``perturb``."""
    if request.node.get_closest_marker(_PERTURB) is None:
        _refuse(f"the fixture perturbed is for async tests with @pytest.mark.{_PERTURB}(plans=...)")


@pytest.fixture
def virtual_time_backend() -> tuple[str, dict[str, object]]:
    """The trio backend with virtual time, as a value for ``anyio_backend``.

    Its clock (``trio.testing.MockClock``) jumps to the next deadline as soon as every task is waiting::

        @pytest.fixture
        def anyio_backend(virtual_time_backend):
            return virtual_time_backend
    """
    import trio.testing

    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


@pytest.fixture
async def api_server(request: pytest.FixtureRequest) -> AsyncIterator[APIServer]:
    """A running :class:`dynkube_testing.APIServer`, new for each test."""
    import trio.lowlevel

    if not trio.lowlevel.in_trio_run():
        _refuse(
            "the fixtures api_server and kube_client run on trio: let the fixture anyio_backend return 'trio', or use "
            "virtual_time_backend; on asyncio use served_api_server"
        )
    options = _Options.of(request)
    async with options.server() as server:
        options.fill(server)
        yield server


@pytest.fixture
async def kube_client(api_server: APIServer) -> AsyncIterator[Client]:
    """A :class:`dynkube.Client` connected to ``api_server`` in memory.

    A watch ends immediately with the last informer that uses it (``linger=0``), so that tests need not wait for that.
    """
    from dynkube._connect import connect
    from dynkube.informers import InformerSettings

    async with connect(transport=api_server.transport(), settings=InformerSettings(linger=0)) as client:
        yield client


@pytest.fixture
def served_api_server(request: pytest.FixtureRequest) -> Iterator[ServedAPIServer]:
    """An embedded API server on TCP: :class:`dynkube_testing.ServerThread`.

    Its methods are thread-safe. It runs on the real clock.
    """
    from dynkube_testing import serve_in_thread

    options = _Options.of(request)
    with serve_in_thread(options.server(), tls=options.tls) as served:
        options.fill(served)
        yield served


@pytest.fixture
def api_server_kubeconfig(served_api_server: ServedAPIServer, tmp_path: Path) -> Path:
    """The path of a kubeconfig for ``served_api_server``, as for kubectl."""
    return served_api_server.endpoint.write_kubeconfig(tmp_path / "kubeconfig")


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A real control plane: :class:`dynkube_testing.ControlPlane`. Real clock.

    All tests of the session share it. If ``$KUBEBUILDER_ASSETS`` is not set, or the control plane does not start,
    tests that request it fail with the reason.
    """
    from dynkube.errors import ControlPlaneError
    from dynkube_testing import ControlPlane

    with ExitStack() as stack:
        plane = ControlPlane(folder=tmp_path_factory.mktemp("control-plane"), keep=False)
        try:
            stack.enter_context(plane)
        except (ControlPlaneError, ImportError) as error:
            message = f"the fixture control_plane failed to start: {error}"
            raise pytest.fail.Exception(message, pytrace=False) from None  # or pytest would print the error twice
        yield plane


@pytest.fixture(scope="session")
def control_plane_kubeconfig(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of a kubeconfig for the administrator of ``control_plane``."""
    return control_plane.write_kubeconfig(tmp_path_factory.mktemp("control-plane-kubeconfig") / "kubeconfig")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """If a test with a control plane fails, keep its logs and report where."""
    report = yield
    if report.failed and (module := sys.modules.get("dynkube_testing._control_plane.plane")):
        for value in getattr(item, "funcargs", {}).values():
            if isinstance(value, module.ControlPlane):
                value.keep = True
                report.sections.append(("control plane", value.describe()))
    return report


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """The options from a test's markers.

    Those of the test override those of its class and module.
    """

    constructor: dict[str, object]
    load: object
    tls: bool
    folder: Path

    @classmethod
    def of(cls, request: pytest.FixtureRequest) -> _Options:
        given: dict[str, object] = {}
        for marker in reversed(list(request.node.iter_markers(_MARKER))):
            if marker.args:
                _refuse(f"the marker {_MARKER} accepts only keyword arguments, not {marker.args[0]!r}")
            given |= marker.kwargs
        load, tls = given.pop("load", None), bool(given.pop("tls", False))
        _check_names(given)
        return cls(constructor=given, load=load, tls=tls, folder=request.path.parent)

    def server(self) -> APIServer:
        from dynkube_testing import APIServer

        return APIServer(**self.constructor)  # type: ignore[arg-type]  # names are checked, values are the user's

    def fill(self, server: APIServer | ServedAPIServer) -> None:
        if self.load is not None:
            server.load(self._located(self.load))  # type: ignore[arg-type]  # load() says what it cannot read

    def _located(self, source: object) -> object:
        """Resolve relative paths from the folder of the test's file."""
        if isinstance(source, list | tuple):
            return [self._located(part) for part in source]
        if isinstance(source, Path) or (isinstance(source, str) and not {"\n", "{"} & set(source)):
            return self.folder / source
        return source


def _check_names(given: dict[str, object]) -> None:
    import difflib

    from dynkube_testing import APIServer

    known = [*inspect.signature(APIServer).parameters, "load", "tls"]
    for name in given:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]}?" if close else f"available options: {', '.join(sorted(known))}"
            _refuse(f"the marker {_MARKER} has no option {name!r}; {hint}")


def _refuse(message: str) -> NoReturn:
    pytest.fail(message, pytrace=False)
