"""The command line of the control planes; the Makefile calls it.

    python -m tools.control_plane build
    python -m tools.control_plane test [--optional] [--only apiserver-current] [ARGUMENTS OF PYTEST]
    python -m tools.control_plane start [apiserver-old]

``build`` prints ``NAME=FOLDER`` for each control plane; the folder has the layout of ``$KUBEBUILDER_ASSETS``. ``test``
builds, and runs the contract tests with one ``--cluster`` for each, and one for ``$KUBEBUILDER_ASSETS`` if it is set.
``start`` runs one until Ctrl-C, and prints its kubeconfigs.

Exit codes: 1 if a build failed; 69 (``EX_UNAVAILABLE``) if nothing is built and Go is neither installed nor can be
downloaded (0 with ``test --optional``); otherwise pytest's.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from tools.control_plane.build import build_all
from tools.control_plane.recipes import NAMES, BuildFailed
from tools.control_plane.toolchain import Unavailable

ROOT = Path(__file__).resolve().parents[2]
TESTS = ("tests/contract", "tests/testing/control_plane")


def main() -> int:
    """Run the command line, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.control_plane", description="Real API servers for tests.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("build", help="build missing programs, and print the folders")
    test = commands.add_parser("test", help="run the contract tests", allow_abbrev=False)
    test.add_argument("--optional", action="store_true", help="succeed if no real API server is available")
    test.add_argument("--only", choices=NAMES, help="build and test only this one")
    start = commands.add_parser("start", help="start one, for manual requests")
    start.add_argument("name", choices=NAMES, nargs="?", default=NAMES[-1])
    known, rest = parser.parse_known_args()
    if rest and known.command != "test":
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    try:
        if known.command == "start":
            return run_server(known.name)
        if known.command == "test":
            return run_tests(rest, optional=known.optional, names=[known.only] if known.only else NAMES)
        print(*(f"{name}={folder}" for name, folder in build_all().items()), sep="\n")
    except Unavailable as error:
        print(error, file=sys.stderr)
        return os.EX_UNAVAILABLE
    except BuildFailed as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def run_tests(arguments: Sequence[str], *, optional: bool, names: Sequence[str] = NAMES) -> int:
    """Run pytest on every available real API server, and return its exit code.

    Args:
        arguments: arguments of pytest; if they name tests, only these are run.
        optional: whether to return 0 if no server is available.
        names: which servers to build and test.

    Raises:
        BuildFailed: Go is available, and a build failed.
    """
    clusters: dict[str, Path] = {}
    if assets := os.environ.get("KUBEBUILDER_ASSETS"):
        clusters["kubebuilder-assets"] = Path(assets)
    try:
        clusters |= build_all(names)
    except Unavailable as error:
        print(f"{error}\n\n*** NOT TESTED, as they cannot be built: {', '.join(names)} ***\n", file=sys.stderr)
        if not clusters:
            return 0 if optional else os.EX_UNAVAILABLE
    options = [f"--cluster={name}={folder}" for name, folder in clusters.items()]
    tests = () if any(argument.startswith("tests/") for argument in arguments) else TESTS
    # One process for each, so that each is started once: tests/contract groups its tests by server. If there is only
    # one, two processes start one each, and take turns by file.
    jobs = ("-n", str(len(clusters)), "--dist", "loadgroup") if len(clusters) > 1 else ("-n", "2", "--dist", "loadfile")
    command = [sys.executable, "-m", "pytest", *jobs, *tests, *options, *arguments]
    return subprocess.run(command, cwd=ROOT, check=False).returncode  # noqa: S603 - pytest


def run_server(name: str) -> int:
    """Run a control plane until Ctrl-C, with an administrator and a user without permissions."""
    from dynkube_testing import ControlPlane  # not needed by `build`

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that the folder is removed in both cases
    with ControlPlane(build_all()[name]) as plane, contextlib.suppress(KeyboardInterrupt):
        print(f"{name} {plane.version} is at {plane.url}, without controllers; Ctrl-C ends it")
        print("of the administrator:", plane.write_kubeconfig(plane.folder / "kubeconfig"))
        alice = plane.add_user("alice", groups=["devs"])
        print("of alice, in devs:", alice.write_kubeconfig(plane.folder / "alice.kubeconfig"), flush=True)
        threading.Event().wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
