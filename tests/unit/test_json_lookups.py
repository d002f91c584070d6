"""Recorded values may be lists and objects, which no set and no dictionary can look up."""

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).parents[2]
_LOOKUP: Final = re.compile(r"\.get\([\w\"]+\) (?:not )?in (\{|_?[A-Z][A-Z_]*\b)")


def _lookups() -> Iterator[tuple[Path, str]]:
    """Yield the constants, or literal sets, in which members of objects are looked up."""
    for folder in ("traces", "diffing", "replay"):
        for path in (_ROOT / folder).rglob("*.py"):
            yield from ((path.relative_to(_ROOT), match[1]) for match in _LOOKUP.finditer(path.read_text()))


def _is_hashed(path: Path, name: str) -> bool:
    if name == "{":
        return True
    module = importlib.import_module(".".join(path.with_suffix("").parts))
    return isinstance(getattr(module, name), set | frozenset | dict)


def test_members_are_looked_up_as_texts() -> None:
    lookups = [*_lookups()]
    assert lookups
    assert [f"{path}: {name}" for path, name in lookups if _is_hashed(path, name)] == []
