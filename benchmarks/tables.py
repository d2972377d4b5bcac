"""Tables of docs/benchmarks: each is kept as JSON, with command, commit and date, and shown on a page.

    python benchmarks/tables.py

writes the tables of every page from the JSON file of the same name, as ``make fix`` does. A script that is run with
``--write`` replaces its tables there. A page shows a table between ``<!-- table NAME -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from convqa.driver.fingerprint import git_commit

PAGES = Path(__file__).resolve().parents[1] / "docs" / "benchmarks"
_BLOCK = re.compile(r"<!-- table (\S+) -->\n.*?<!-- end -->", re.DOTALL)


def record(name: str, head: Sequence[str], rows: Sequence[Sequence[str]], command: Sequence[str]) -> None:
    """Keep a table (``PAGE/NAME``) with its command, today's date and the current commit, and update its page."""
    page, _, name = name.partition("/")
    path = PAGES / f"{page}.json"
    tables = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    commit, _, dirty = (git_commit() or "").partition("-")
    commit = "-".join(filter(None, (commit[:9], dirty)))
    tables[name] = {"command": shlex.join(command), "commit": commit, "date": f"{datetime.now(UTC):%Y-%m-%d}"}
    tables[name] |= {"head": list(head), "rows": [list(row) for row in rows]}
    path.write_text(dumps(tables), encoding="utf-8")
    update(PAGES / f"{page}.md")


def dumps(tables: dict[str, Any]) -> str:
    """Format tables as JSON with one row per line.

    >>> print(dumps({"sets": {"date": "2026-11-25", "head": ["a", "b"], "rows": [["1", "2"]]}}), end="")
    {
     "sets": {
      "date": "2026-11-25",
      "head": ["a", "b"],
      "rows": [
       ["1", "2"]
      ]
     }
    }
    """
    text = json.dumps(tables, indent=1, ensure_ascii=False)
    lists = re.compile(r'\[\n\s+("[^\n]*"(?:,\n\s+"[^\n]*")*)\n\s+\]')
    return lists.sub(lambda cells: "[" + re.sub(r",\n\s+", ", ", cells[1]) + "]", text) + "\n"


def update(page: Path) -> None:
    """Write the tables of a page."""
    page.write_text(filled(page), encoding="utf-8")


def filled(page: Path) -> str:
    """Return the text of a page with its tables.

    :raises KeyError: if the page shows a table that its JSON file lacks.
    """
    data = page.with_suffix(".json")
    tables = json.loads(data.read_text(encoding="utf-8")) if data.is_file() else {}
    return _BLOCK.sub(
        lambda match: f"<!-- table {match[1]} -->\n{markdown(tables[match[1]])}<!-- end -->",
        page.read_text(encoding="utf-8"),
    )


def markdown(table: dict[str, Any]) -> str:
    """Format a table, and the line below it with its commit and date."""
    head, *rows = ("| " + " | ".join(row) + " |\n" for row in (table["head"], *table["rows"]))
    commit = f"commit {table['commit']}, " if table["commit"] else ""
    return f"{head}|{'---|' * len(table['head'])}\n{''.join(rows)}\n<sub>{commit}{table['date']}</sub>\n"


if __name__ == "__main__":
    for page in PAGES.glob("*.md"):
        update(page)
