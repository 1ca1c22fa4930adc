"""The command line, which the Makefile calls.

    python -m tools.control_plane build
    python -m tools.control_plane test [--optional] [ARGUMENTS OF PYTEST]
    python -m tools.control_plane start [apiserver-old]

``build`` prints ``NAME=FOLDER`` for each control plane; the folder is laid out as that of ``$KUBEBUILDER_ASSETS``.
``test`` builds too, and runs the tests of what a cluster decides with a ``--cluster`` for each, and one for
``$KUBEBUILDER_ASSETS`` if that is set. ``start`` prints kubeconfigs of one that runs until Ctrl-C.

Exit codes: 1 where a build broke; 69 (``EX_UNAVAILABLE``) where there is nothing built, no Go and no way to one, which
``test --optional`` passes over; else pytest's.
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
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tools.control_plane", description="Real API servers for tests.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("build", help="build what is missing, and print the folders")
    test = commands.add_parser("test", help="run the tests of what a cluster decides", allow_abbrev=False)
    test.add_argument("--optional", action="store_true", help="pass where no real API server is to be had")
    start = commands.add_parser("start", help="start one, to look at what it answers")
    start.add_argument("name", choices=NAMES, nargs="?", default=NAMES[-1])
    known, rest = parser.parse_known_args()
    if rest and known.command != "test":
        parser.error(f"what is {' '.join(rest)}?")
    try:
        if known.command == "start":
            return run_server(known.name)
        if known.command == "test":
            return run_tests(rest, optional=known.optional)
        print(*(f"{name}={folder}" for name, folder in build_all().items()), sep="\n")
    except Unavailable as error:
        print(error, file=sys.stderr)
        return os.EX_UNAVAILABLE
    except BuildFailed as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def run_tests(arguments: Sequence[str], *, optional: bool) -> int:
    """Run pytest on every real API server that is to be had; returns its exit code.

    Args:
        arguments: Of pytest; tests among them are run instead of all.
        optional: Whether to return 0 where none is to be had.

    Raises:
        BuildFailed: One could not be built although there is Go.
    """
    clusters: dict[str, Path] = {}
    if assets := os.environ.get("KUBEBUILDER_ASSETS"):
        clusters["kubebuilder-assets"] = Path(assets)
    try:
        clusters |= build_all()
    except Unavailable as error:
        print(f"{error}\n\n*** NOT TESTED, as they cannot be built: {', '.join(NAMES)} ***\n", file=sys.stderr)
        if not clusters:
            return 0 if optional else os.EX_UNAVAILABLE
    options = [f"--cluster={name}={folder}" for name, folder in clusters.items()]
    tests = () if any(argument.startswith("tests/") for argument in arguments) else TESTS
    # A process for each, so that each is started once: tests/contract groups its tests by where they run.
    jobs = ("-n", str(len(clusters)), "--dist", "loadgroup")
    command = [sys.executable, "-m", "pytest", *jobs, *tests, *options, *arguments]
    return subprocess.run(command, cwd=ROOT, check=False).returncode  # noqa: S603 - the developer's own


def run_server(name: str) -> int:
    """Run a control plane until Ctrl-C, with an administrator and a user who has no rights."""
    from dynkube.testing import ControlPlane  # `build` needs no library

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ended either way it takes its folder with it
    with ControlPlane(build_all()[name]) as plane, contextlib.suppress(KeyboardInterrupt):
        print(f"{name} {plane.version} is at {plane.url}, without controllers; Ctrl-C ends it")
        print("of the administrator:", plane.write_kubeconfig(plane.folder / "kubeconfig"))
        alice = plane.add_user("alice", groups=["devs"])
        print("of alice, in devs:", alice.write_kubeconfig(plane.folder / "alice.kubeconfig"), flush=True)
        threading.Event().wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
