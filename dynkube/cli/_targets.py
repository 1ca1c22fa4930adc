"""Loads controllers and functions from a user's module or file."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple

from dynkube.cli._run import CommandFailed
from dynkube.controllers import Controller, Lifespan
from dynkube.meta._arguments import a_type

_LIFESPAN: Final = "lifespan"  # its name in a module: a function has no type by which it could be found


class Operator(NamedTuple):
    """What ``dynkube run`` runs.

    Attributes:
        controllers: the controllers, each once.
        lifespan: what the modules define by this name; ``None`` if none does.
    """

    controllers: list[Controller]
    lifespan: Lifespan | None


def load_operator(targets: Iterable[str]) -> Operator:
    """Import what is named, each module once, and return its controllers and the lifespan of its modules.

    Args:
        targets: ``MODULE``, ``MODULE:NAME``, ``FILE.py`` or ``FILE.py:NAME``. A name is that of a controller or of
            several in a list; without one, all controllers that the module defines or imports are meant.

    Raises:
        CommandFailed: there is no such module, file or name, it has no controllers, or several modules have different
            lifespans.
        Exception: the module raised.
    """
    found: dict[int, Controller] = {}
    modules: dict[str, ModuleType] = {}
    for target in targets:
        where, name = _split(target)
        if where not in modules:  # a file would be run twice
            modules[where] = _imported(where)
        for controller in _controllers(target, where, name, modules[where]):
            found[id(controller)] = controller
    return Operator(list(found.values()), _lifespan(modules))


def _lifespan(modules: Mapping[str, ModuleType]) -> Lifespan | None:
    found = {where: getattr(module, _LIFESPAN) for where, module in modules.items() if hasattr(module, _LIFESPAN)}
    (first, lifespan), *others = found.items() or [("", None)]
    for where, other in others:
        if other is not lifespan:
            raise CommandFailed(
                f"{first} and {where} both define a lifespan, and one is entered for all controllers: define one that "
                "enters both, and import it into the other module"
            )
    checked: Lifespan | None = lifespan  # by run
    return checked


def load_function(target: str) -> Callable[..., Any]:
    """Import what is named, and return the function.

    Args:
        target: ``MODULE:NAME`` or ``FILE.py:NAME``.

    Raises:
        CommandFailed: there is no such module, file or name, or it cannot be called.
        Exception: the module raised.
    """
    where, name = _split(target)
    module = _imported(where)
    if not name:
        raise CommandFailed(f"{target!r} names no function: pass MODULE:NAME or FILE.py:NAME")
    function = getattr(module, name, None)
    if not callable(function):
        raise CommandFailed(f"{where} has no function {name!r}")
    found: Callable[..., Any] = function
    return found


def _split(target: str) -> tuple[str, str]:
    """Return the place and the name in a target."""
    where, _, name = target.partition(":")
    if not where:
        raise CommandFailed(f"{target!r} names no module: pass MODULE:NAME or FILE.py:NAME")
    return where, name


def _imported(where: str) -> ModuleType:
    return _from_file(Path(where)) if where.endswith(".py") else _from_path(where)


def _controllers(target: str, where: str, name: str, module: ModuleType) -> Iterable[Controller]:
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
