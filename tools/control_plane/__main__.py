"""The command line, which the Makefile calls.

    python -m tools.control_plane build
    python -m tools.control_plane test [--optional] [ARGUMENTS OF PYTEST]

``build`` prints ``NAME=FOLDER`` for each control plane; the folder is laid out as that of ``$KUBEBUILDER_ASSETS``.
``test`` builds too, and runs the tests of what a cluster decides with a ``--cluster`` for each, and one for
``$KUBEBUILDER_ASSETS`` if that is set.

Exit codes: 1 where a build broke; 69 (``EX_UNAVAILABLE``) where there is nothing built, no Go and no way to one, which
``test --optional`` passes over; else pytest's.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
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
    test = commands.add_parser("test", help="run the tests of what a cluster decides; further arguments go to pytest")
    test.add_argument("--optional", action="store_true", help="pass where no real API server is to be had")
    known, rest = parser.parse_known_args()
    try:
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
    command = [sys.executable, "-m", "pytest", *TESTS, *options, *arguments]
    return subprocess.run(command, cwd=ROOT, check=False).returncode  # noqa: S603 - the developer's own


if __name__ == "__main__":
    sys.exit(main())
