"""``dynkube completion``: shell completion, as cyclopts generates it."""

from __future__ import annotations

from typing import Literal

from cyclopts import App


def add_completion(app: App) -> None:
    """Add the command to an app whose other commands are to be completed."""

    @app.command
    def completion(shell: Literal["bash", "zsh", "fish"], /) -> None:
        """Print the script that completes commands, options and file names in a shell.

        bash: dynkube completion bash > ~/.local/share/bash-completion/completions/dynkube

        zsh: dynkube completion zsh > "${fpath[1]}/_cyclopts_dynkube" (the name is that of the function in it)

        fish: dynkube completion fish > ~/.config/fish/completions/dynkube.fish

        Args:
            shell: The shell.
        """
        print(app.generate_completion(shell=shell).rstrip("\n"))
