"""The cyclopts app with all commands."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from cyclopts import App

from dynkube.cli._completion import add_completion

# With the first line of each docstring, as the modules are loaded only when the command runs: all take 0.3 s.
_COMMANDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "_apply:apply": "Apply manifests by server-side apply: namespaces and CRDs first, then the rest in parallel.",
        "_nodes:cordon": "Mark a node as unschedulable: no new pods are assigned to it, those on it stay.",
        "_copy:cp": "Copy a file or folder to or from a container: dynkube cp web:/var/log/app logs.",
        "_demo:demo": (
            "Show what a lazy informer does, without a cluster: absent, appear, fill, filter, delete, return."
        ),
        "_inspection:describe": (
            "Show an object of any kind with its fields in short, conditions, owners, what it owns, and events."
        ),
        "_diff:diff": "Show what applying manifests would change, without changing anything.",
        "_nodes:drain": "Cordon a node, evict its pods, and wait until they are gone.",
        "_drift:drift": "Show which applied fields were changed or removed since, and by which manager.",
        "_inspection:explain": (
            "Show the fields of a kind, or of one of its fields, with types and texts, also of custom resources."
        ),
        "_exec:exec": "Run a command in a container: dynkube exec web -it -- sh. Exits with the command's exit code.",
        "_extract:extract": (
            "Print what a manager last applied: name, namespace and the fields it owns, with their live values."
        ),
        "_logs:logs": "Follow the logs of pods until Ctrl-C, while pods come and go.",
        "_owners:owners": (
            "Show the managers of an object's fields, their operation (Apply, or an Update of any kind) and its time."
        ),
        "_perturb:perturb": (
            "Run a program many times against an embedded API server, and perturb what it sees of the cluster."
        ),
        "_port_forward:port_forward": (
            "Listen on this machine, and forward connections to ports of a pod, until Ctrl-C."
        ),
        "_ownership:release": "Give up the ownership of fields, and keep their values.",
        "_controllers:run": "Run the controllers of a module until SIGINT or SIGTERM.",
        "_serve:serve": "Run a small in-memory Kubernetes API server until Ctrl-C.",
        "_stubs:stubs": (
            "Write models of kinds: msgspec Structs for obj.typed(...), one module for each group and version."
        ),
        "_ownership:transfer": "Transfer the ownership of fields to another manager, as if that had applied them.",
        "_nodes:uncordon": "Mark a node as schedulable again.",
        "_ownership:upgrade_managed_fields": (
            "Migrate the ownership of fields from kubectl apply without --server-side to server-side apply."
        ),
        "_watch:watch": "Follow a resource until Ctrl-C, whether or not it exists yet.",
    }
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


def build_app(*, listing: bool = False) -> App:
    """Return the ``dynkube`` command with all its sub-commands.

    Async ones run on trio.

    Args:
        listing: it is only to print the list of commands.
    """
    app = App(
        name="dynkube",
        help=_HELP,
        help_format="plaintext" if listing else "markdown",  # which takes as long to load as all the rest
        version=_version,
        backend="trio",
        # Errors, Ctrl-C and results are mapped to exit codes in dynkube.cli._run.
        exit_on_error=False,
        print_error=False,
        suppress_keyboard_interrupt=False,
        result_action="return_int_as_exit_code_else_zero",
    )
    for function, text in _COMMANDS.items():
        # With a text the command's own help would not have its docstring.
        app.command(f"dynkube.cli.{function}", help=text if listing else None)
    for name, text, module, functions in _GROUPS:
        group = App(name=name, help=text)
        for function, aliases in functions.items():
            group.command(f"dynkube.cli.{module}:{function}", name=(function, *aliases))
        app.command(group)
    add_completion(app)
    return app


def _version() -> str:
    from importlib.metadata import version

    return f"dynkube {version('dynkube')}"
