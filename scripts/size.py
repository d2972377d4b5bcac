"""What a reader carries: tokens of code by package, and tokens a code line.

    python scripts/size.py [FOLDER] [--functions N]

Tokens are those of Python's ``tokenize``, without comments, docstrings and layout. A code line is one that holds a
token. Comments and docstrings explain the code, so they are not counted. The package ``testing`` runs only in tests: it
is listed, but not part of the total. FOLDER defaults to ``convqa``; ``--functions``
lists the longest and the densest functions.
"""

from __future__ import annotations

import argparse
import ast
import io
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

_LAYOUT = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}
_WITH_DOCSTRING = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
TESTING = "testing"
"""The package that is counted apart."""
_FEWEST_LINES = 4
"""A shorter function is not listed as dense."""


@dataclass(frozen=True)
class Size:
    """Tokens of code, lines that hold them, and all lines."""

    tokens: int = 0
    code_lines: int = 0
    lines: int = 0

    def __add__(self, other: Size) -> Size:
        return Size(self.tokens + other.tokens, self.code_lines + other.code_lines, self.lines + other.lines)

    @property
    def density(self) -> float:
        """Tokens a code line."""
        return self.tokens / self.code_lines if self.code_lines else 0.0


def tokens_by_line(source: str) -> Counter[int]:
    """Return the number of tokens of code by line number.

    >>> tokens_by_line('x = 1  # one' + chr(10) + '"not a docstring, as it does not begin the module"')
    Counter({1: 3, 2: 1})
    """
    documented: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, _WITH_DOCSTRING) and ast.get_docstring(node, clean=False) is not None:
            docstring = node.body[0]
            documented.update(range(docstring.lineno, (docstring.end_lineno or docstring.lineno) + 1))
    numbers = Counter[int]()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _LAYOUT and token.start[0] not in documented:
            numbers[token.start[0]] += 1
    return numbers


def size(source: str) -> Size:
    """Return the size of a module."""
    numbers = tokens_by_line(source)
    return Size(sum(numbers.values()), len(numbers), source.count("\n"))


def sizes(folder: Path) -> dict[str, Size]:
    """Return the sizes of a folder's packages; modules of the folder itself are together under ``(modules)``."""
    packages: dict[str, Size] = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).parts
        name = parts[0] if len(parts) > 1 else "(modules)"
        packages[name] = packages.get(name, Size()) + size(path.read_text(encoding="utf-8"))
    return packages


def functions(folder: Path) -> Iterator[tuple[str, Size]]:
    """Yield ``path:line name`` and size of every function."""
    for path in sorted(folder.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        numbers = tokens_by_line(source)
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                last = node.end_lineno or node.lineno
                own = [numbers[line] for line in range(node.lineno, last + 1) if line in numbers]
                name = f"{path.relative_to(folder)}:{node.lineno} {node.name}"
                yield name, Size(sum(own), len(own), last + 1 - node.lineno)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "convqa")
    parser.add_argument("--functions", type=int, default=0, metavar="N")
    options = parser.parse_args()
    packages = sizes(options.folder)
    testing = packages.pop(TESTING, None)
    total = sum(packages.values(), Size())
    print("| package | tokens | code lines | tokens a line | lines |\n|---|---|---|---|---|")
    rows = [*sorted(packages.items(), key=lambda item: -item[1].tokens), ("**all**", total)]
    if testing is not None:
        rows.append((f"{TESTING}, apart", testing))
    for name, part in rows:
        print(f"| {name} | {part.tokens:,} | {part.code_lines:,} | {part.density:.1f} | {part.lines:,} |")
    if options.functions:
        known = list(functions(options.folder))
        dense = [(name, own) for name, own in known if own.code_lines >= _FEWEST_LINES]
        for title, ordered in (
            ("longest", sorted(known, key=lambda item: -item[1].tokens)),
            ("densest", sorted(dense, key=lambda item: -item[1].density)),
        ):
            print(f"\n{title}:")
            for name, own in ordered[: options.functions]:
                print(f"  {own.tokens:5} tokens, {own.density:4.1f} a line  {name}")


if __name__ == "__main__":
    main()
