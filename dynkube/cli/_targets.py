"""Loads controllers and functions from a user's module or file."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from dynkube.cli._run import CommandFailed
from dynkube.controllers import Controller
from dynkube.meta._arguments import a_type


def load_controllers(targets: Iterable[str]) -> list[Controller]:
    """Import what is named, and return its controllers, each once.

    Args:
        targets: ``MODULE``, ``MODULE:NAME``, ``FILE.py`` or ``FILE.py:NAME``. A name is that of a controller or of
            several in a list; without one, all controllers that the module defines or imports are meant.

    Raises:
        CommandFailed: there is no such module, file or name, or it has no controllers.
        Exception: the module raised.
    """
    found: dict[int, Controller] = {}
    for target in targets:
        for controller in _controllers(target):
            found[id(controller)] = controller
    return list(found.values())


def load_function(target: str) -> Callable[..., Any]:
    """Import what is named, and return the function.

    Args:
        target: ``MODULE:NAME`` or ``FILE.py:NAME``.

    Raises:
        CommandFailed: there is no such module, file or name, or it cannot be called.
        Exception: the module raised.
    """
    where, name, module = _imported(target)
    if not name:
        raise CommandFailed(f"{target!r} names no function: pass MODULE:NAME or FILE.py:NAME")
    function = getattr(module, name, None)
    if not callable(function):
        raise CommandFailed(f"{where} has no function {name!r}")
    found: Callable[..., Any] = function
    return found


def _imported(target: str) -> tuple[str, str, ModuleType]:
    """Return the place and the name in a target, and the module."""
    where, _, name = target.partition(":")
    if not where:
        raise CommandFailed(f"{target!r} names no module: pass MODULE:NAME or FILE.py:NAME")
    return where, name, _from_file(Path(where)) if where.endswith(".py") else _from_path(where)


def _controllers(target: str) -> Iterable[Controller]:
    where, name, module = _imported(target)
    if not name:
        controllers = [each for each in vars(module).values() if isinstance(each, Controller)]
        if not controllers:
            raise CommandFailed(
                f"{where} has no controllers: define one, like websites = Controller(...), or pass :NAME"
            )
        return controllers
    if not hasattr(module, name):
        raise CommandFailed(f"{where} has no {name!r}{_instead(vars(module))}")
    return _checked(target, getattr(module, name))


def _checked(target: str, value: object) -> Iterable[Controller]:
    if isinstance(value, Controller):
        return [value]
    listed = list(value) if isinstance(value, Iterable) else []
    controllers = [each for each in listed if isinstance(each, Controller)]
    if not controllers or len(controllers) < len(listed):
        raise CommandFailed(f"{target} is {a_type(value)}: pass the name of a Controller, or of a list of controllers")
    return controllers


def _instead(names: Mapping[str, object]) -> str:
    controllers = [name for name, value in names.items() if isinstance(value, Controller)]
    return f"; its controllers are {', '.join(controllers)}" if controllers else ""


def _from_path(name: str) -> ModuleType:
    """Import a module, also from the current directory, as ``python -m`` does."""
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            raise CommandFailed(f"there is no module {name!r} here: pass MODULE:NAME or FILE.py:NAME") from error
        raise  # an import in the module, which its traceback shows


def _from_file(path: Path) -> ModuleType:
    """Import a file, with its directory on the path, as ``python FILE`` does."""
    if not path.is_file():
        raise CommandFailed(f"there is no file {path}: pass MODULE:NAME or FILE.py:NAME")
    sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
