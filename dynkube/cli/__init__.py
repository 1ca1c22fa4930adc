"""Layer 9: the ``dynkube`` command, a thin layer over the library.

``_main.py`` is the entry point, ``_app.py`` registers the commands, and ``_run.py`` maps exceptions to exit codes; each
command has a module of its own. Needs the ``cli`` extra, which is imported only when the command runs.
"""

from dynkube.cli._main import main

__all__ = ["main"]
