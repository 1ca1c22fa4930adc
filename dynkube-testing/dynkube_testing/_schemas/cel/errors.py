"""Exceptions of compiling and evaluating CEL."""

from __future__ import annotations


class CannotEvaluate(Exception):
    """The expression does not compile, or no CEL library is installed."""


class EvaluationError(Exception):
    """The expression fails for the given variables; the text is cel-go's."""


class Aborted(Exception):
    """cel-go fails while it evaluates the expression, which no operator catches; the text is its error."""


def no_overload(signature: str = "") -> EvaluationError:
    """Return the error of a function or operator that does not support the types of its arguments."""
    return EvaluationError(f"no such overload: {signature}" if signature else "no such overload")
