"""Find the place of a mutant in the source by what it says, not by how it is written.

A place is an expression in a function. A capital letter in the pattern stands for any expression,
the same one wherever it stands again. So comments, line breaks, and other names may change.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.mutants.table import TEXT

ANY = re.compile(r"[A-Z]")
Found = dict[str, ast.AST]


class Lost(Exception):
    """The pattern stands nowhere, or in several places."""


@dataclass(frozen=True)
class Place:
    """Where a pattern stands.

    Attributes:
        start, end: offsets in the bytes of the file.
        found: what each letter of the pattern stands for, as it is written there; None for a text.
    """

    file: Path
    start: int
    end: int
    found: dict[str, str] | None = None

    def changed(self, new: str) -> str:
        """Return the text of the file with `new` at this place, letters filled in."""
        text = self.file.read_bytes()
        return (text[: self.start] + self._filled(new).encode() + text[self.end :]).decode()

    def _filled(self, new: str) -> str:
        if self.found is None:
            return new
        return "(" + re.sub(r"\b[A-Z]\b", lambda letter: self.found[letter[0]], new) + ")"


def find(root: Path, within: str, function: str, pattern: str) -> Place:
    """Return the only place below `root` where the pattern stands.

    Args:
        within: a file or a folder below the root.
        function: its name, or `Class.method`; TEXT for a text of the file.
        pattern: a Python expression, or that text.

    Raises:
        Lost: there is none, or more than one.
    """
    path = root / within
    if function == TEXT:
        return _text(path, pattern)
    wanted = ast.parse(pattern, mode="eval").body
    files = [path] if path.is_file() else sorted(path.rglob("*.py"))
    places = [
        _place(file, node, found)
        for file in files
        for body in _functions(ast.parse(file.read_bytes()), function.split("."))
        for node in ast.walk(body)
        if (found := _match(wanted, node)) is not None
    ]
    if len(places) != 1:
        raise Lost(f"`{pattern}` stands {len(places)} times in {function} of {within}")
    return places[0]


def _text(file: Path, text: str) -> Place:
    source = file.read_bytes()
    if (times := source.count(text.encode())) != 1:
        raise Lost(f"`{text}` stands {times} times in {file.name}")
    start = source.index(text.encode())
    return Place(file, start, start + len(text.encode()))


def _functions(tree: ast.AST, names: list[str]) -> Iterator[ast.AST]:
    """Yield each function of this name, wherever it is defined."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == names[0]:
            if names[1:]:
                yield from _functions(node, names[1:])
            elif isinstance(node, ast.FunctionDef):
                yield node


def _match(wanted: Any, node: Any, found: Found | None = None) -> Found | None:
    """Return what the letters stand for where the node is what is wanted, else None."""
    found = {} if found is None else found
    if isinstance(wanted, ast.Name) and ANY.fullmatch(wanted.id) and isinstance(node, ast.expr):
        before = found.setdefault(wanted.id, node)
        return found if ast.dump(before) == ast.dump(node) else None
    if isinstance(wanted, list) and isinstance(node, list):
        same = len(wanted) == len(node)
        pairs = list(zip(wanted, node, strict=same))
    elif isinstance(wanted, ast.AST) and type(wanted) is type(node):
        same = True
        fields = (name for name in wanted._fields if name != "ctx")
        pairs = [(getattr(wanted, name), getattr(node, name)) for name in fields]
    else:
        return found if type(wanted) is type(node) and wanted == node else None
    return found if same and all(_match(*pair, found) is not None for pair in pairs) else None


def _place(file: Path, node: ast.AST, found: Found) -> Place:
    text = file.read_bytes()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def span(of: Any) -> tuple[int, int]:
        return starts[of.lineno - 1] + of.col_offset, starts[of.end_lineno - 1] + of.end_col_offset

    written = {letter: text[slice(*span(one))].decode() for letter, one in found.items()}
    return Place(file, *span(node), written)
