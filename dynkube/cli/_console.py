"""The rich console of the commands."""

from __future__ import annotations

from rich.console import Console


class PlainConsole(Console):
    """A rich console without markup and wrapping, which raises BrokenPipeError.

    Rich uses styles on terminals only, and not if ``NO_COLOR`` is set.
    """

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False, highlight=False, soft_wrap=True)

    def on_broken_pipe(self) -> None:
        """Raise the error, so that dynkube.cli._run maps it to an exit code.

        Rich would exit here.
        """
        raise  # noqa: PLE0704  # rich calls this while it handles the BrokenPipeError
