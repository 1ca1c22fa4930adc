"""Runs the ``dynkube`` command by ``python -m dynkube.cli``."""

import sys

from dynkube.cli import main

if __name__ == "__main__":
    sys.exit(main())
