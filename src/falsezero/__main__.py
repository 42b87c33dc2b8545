"""`python -m falsezero` is the command `falsezero`."""

import sys

__all__ = ["run"]


def run() -> int:
    """Run the command; Ctrl-C during its import is reported like any other."""
    try:
        from falsezero.cli import main

        return main()
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(run())
