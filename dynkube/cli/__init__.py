"""Floor 9: the ``dynkube`` command, a thin layer over the library.

``_main.py`` is where it starts, ``_app.py`` lists the commands, ``_run.py`` turns what happens into an exit code;
each command has a module of its own. Needs the ``cli`` extra, which is looked for only when the command runs.
"""

from dynkube.cli._main import main

__all__ = ["main"]
