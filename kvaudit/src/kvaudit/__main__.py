"""python -m kvaudit: the same as the command `kvaudit`."""

import sys

from .command import main

if __name__ == "__main__":
    sys.exit(main())
