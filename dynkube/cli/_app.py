"""The cyclopts app with all commands."""

from __future__ import annotations

from importlib.metadata import version

from cyclopts import App

from dynkube.cli._apply import apply
from dynkube.cli._completion import add_completion
from dynkube.cli._controllers import run
from dynkube.cli._demo import demo
from dynkube.cli._diff import diff
from dynkube.cli._drift import drift
from dynkube.cli._extract import extract
from dynkube.cli._owners import owners
from dynkube.cli._ownership import release, transfer, upgrade_managed_fields
from dynkube.cli._serve import serve
from dynkube.cli._watch import watch

_HELP = "Dynamic Kubernetes client: works with any resource, without generated types."


def build_app() -> App:
    """Return the ``dynkube`` command with all its sub-commands.

    Async ones run on trio.
    """
    app = App(
        name="dynkube",
        help=_HELP,
        version=_version,
        backend="trio",
        # Errors, Ctrl-C and results are mapped to exit codes in dynkube.cli._run.
        exit_on_error=False,
        print_error=False,
        suppress_keyboard_interrupt=False,
        result_action="return_int_as_exit_code_else_zero",
    )
    app.command(apply)
    app.command(demo)
    app.command(diff)
    app.command(drift)
    app.command(extract)
    app.command(owners)
    app.command(release)
    app.command(run)
    app.command(serve)
    app.command(transfer)
    app.command(upgrade_managed_fields)
    app.command(watch)
    add_completion(app)
    return app


def _version() -> str:
    return f"dynkube {version('dynkube')}"
