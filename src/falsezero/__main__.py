"""`python -m falsezero` is the command `falsezero`."""

import sys

from falsezero.cli import main

if __name__ == "__main__":
    sys.exit(main())
