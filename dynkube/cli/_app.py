"""The cyclopts app with all commands."""

from __future__ import annotations

from importlib.metadata import version
from typing import Final

from cyclopts import App

from dynkube.cli._completion import add_completion

# Loaded when the command runs, or its help is printed: all of them take 0.3 s.
_COMMANDS: Final = (
    "_apply:apply",
    "_nodes:cordon",
    "_copy:cp",
    "_demo:demo",
    "_inspection:describe",
    "_diff:diff",
    "_nodes:drain",
    "_drift:drift",
    "_inspection:explain",
    "_exec:exec",
    "_extract:extract",
    "_logs:logs",
    "_owners:owners",
    "_perturb:perturb",
    "_port_forward:port_forward",
    "_ownership:release",
    "_controllers:run",
    "_serve:serve",
    "_stubs:stubs",
    "_ownership:transfer",
    "_nodes:uncordon",
    "_ownership:upgrade_managed_fields",
    "_watch:watch",
)
# Commands of a command: its name, its help, their module, and their functions with aliases.
_GROUPS: Final = (
    (
        "rollout",
        "Follow, restart, undo, pause or resume the rollout of a workload.",
        "_rollout",
        dict.fromkeys(("status", "history", "restart", "undo", "pause", "resume"), ()),
    ),
    (
        "top",
        "Show the CPU and memory that pods or nodes use.",
        "_inspection",
        {"pods": ("pod", "po"), "nodes": ("node", "no")},
    ),
)
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
    for function in _COMMANDS:
        app.command(f"dynkube.cli.{function}")
    for name, text, module, functions in _GROUPS:
        group = App(name=name, help=text)
        for function, aliases in functions.items():
            group.command(f"dynkube.cli.{module}:{function}", name=(function, *aliases))
        app.command(group)
    add_completion(app)
    return app


def _version() -> str:
    return f"dynkube {version('dynkube')}"
