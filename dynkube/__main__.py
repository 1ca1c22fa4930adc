"""``python -m dynkube`` is the ``dynkube`` command."""

import sys

from dynkube.cli import main

if __name__ == "__main__":
    sys.exit(main())
