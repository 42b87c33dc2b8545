"""Load a sheet in a process of its own, and say how many cells it spans.

A sheet is one block from its first cell to its last, however far apart they are: two cells can
take all memory, and then end the process. This file is run as a script and imports nothing of this
package, so that it starts quickly.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress


def main(max_bytes: int, path: str, name: str) -> None:
    """Print a JSON object with `cells`: those of the sheet, or of the first that is not empty."""
    try:
        from python_calamine import CalamineWorkbook
    except ImportError:
        # It cannot be probed here; the reader has the library it needs.
        print("null")
        return

    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (max_bytes, max_bytes))
    with open(path, "rb") as stream:
        book = CalamineWorkbook.from_filelike(stream)
    cells = 0
    for each in [name] if name in book.sheet_names else book.sheet_names:
        sheet = book.get_sheet_by_name(each)
        cells = sheet.total_height * sheet.total_width
        if cells:
            break
    print(json.dumps({"cells": cells}))


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
