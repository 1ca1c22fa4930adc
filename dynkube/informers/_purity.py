"""Whether a function can be seen to look at nothing but its argument, so that its answers may be kept.

Cached objects never change. So a predicate that looks at the object alone gives one answer for each of them, for ever.
One that looks at anything else has to be called at each read, as nothing says when its answers change.
"""

from __future__ import annotations

import builtins
import dis
from types import CodeType, FunctionType
from typing import Final

# Builtins whose result depends on their arguments alone. What they call in turn are methods of objects, which are ours,
# and of what JSON has.
_STEADY: Final = frozenset(
    {"abs", "all", "any", "bool", "dict", "enumerate", "filter", "float", "frozenset", "getattr", "hasattr", "int"}
    | {"isinstance", "len", "list", "map", "max", "min", "range", "repr", "reversed", "round", "set", "sorted", "str"}
    | {"sum", "tuple", "zip", "AttributeError", "IndexError", "KeyError", "TypeError", "ValueError"}
)
_LOOKS_OUTSIDE: Final = frozenset(
    {"LOAD_NAME", "STORE_NAME", "STORE_GLOBAL", "DELETE_GLOBAL", "IMPORT_NAME", "LOAD_BUILD_CLASS", "LOAD_CLASSDEREF"}
    | {"LOAD_FROM_DICT_OR_GLOBALS", "LOAD_FROM_DICT_OR_DEREF"}
)
_CONSTANTS: Final = (str, int, float, bool, bytes, type(None))


def looks_only_at_its_argument(function: object) -> bool:
    """Whether that can be seen: of a plain function without variables of others, which uses some builtins at most.

    Where it says no it may be so all the same: of methods, objects that can be called, and functions that call others.
    """
    if type(function) is not FunctionType or function.__closure__:
        return False
    defaults = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    if not all(type(value) in _CONSTANTS for value in defaults):
        return False
    return _is_closed(function.__code__, function.__globals__)


def _is_closed(code: CodeType, names: dict[str, object]) -> bool:
    for step in dis.get_instructions(code):
        if step.opname in _LOOKS_OUTSIDE:
            return False
        if step.opname == "LOAD_GLOBAL" and not _is_steady(step.argval, names):
            return False
    # Of functions inside, comprehensions among them: their variables from outside are this one's.
    return all(_is_closed(inner, names) for inner in code.co_consts if isinstance(inner, CodeType))


def _is_steady(name: str, names: dict[str, object]) -> bool:
    return name in _STEADY and name not in names and hasattr(builtins, name)
