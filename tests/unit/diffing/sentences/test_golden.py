"""One file contains every sentence that a report can have about its cause, each with example values.

After a change of the wording, read the difference, and rewrite the file:
`.venv/bin/python -m tests.unit.diffing.sentences.test_golden`.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import diffing.sentences
from tests.unit.diffing.sentences import examples

GOLDEN: Final = Path(__file__).parents[3] / "fixtures" / "sentences.golden.txt"
MODULES: Final = sorted(Path(next(iter(diffing.sentences.__path__))).glob("*.py"))
PARTS: Final = {
    "Attribution": examples.attribution_lines,
    "Changes": examples.change_lines,
    "Proofs": examples.proof_lines,
}
_FIELD: Final = re.compile(r"\{[\w:.]*\}")


def written() -> str:
    """Every sentence once, by part, in the order of the typed cases."""
    parts = (f"# {title}\n\n" + "\n".join(dict.fromkeys(filter(None, lines()))) for title, lines in PARTS.items())
    return "\n\n".join(parts) + "\n"


def fragments(module: Path) -> Iterator[str]:
    """The texts in a module that are words of a sentence."""
    tree = ast.parse(module.read_text())
    names = {id(node) for node in _names(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in names:
            yield from (part for part in _FIELD.split(node.value) if re.search(r"[a-z] [a-z]", part))


def _names(tree: ast.AST) -> Iterator[ast.AST]:
    """Docstrings, and texts that something is compared with or looked up by."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and isinstance(node.body[0], ast.Expr):
            yield node.body[0].value
        if isinstance(node, ast.Compare):
            yield from (name for each in node.comparators for name in ast.walk(each))
        if isinstance(node, ast.Dict):
            yield from filter(None, node.keys)


def test_every_sentence_reads_as_in_the_golden_file() -> None:
    assert written().splitlines() == GOLDEN.read_text().splitlines()


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.stem)
def test_the_golden_file_contains_every_text(module: Path) -> None:
    golden = GOLDEN.read_text()
    assert [text for text in fragments(module) if text not in golden] == []


if __name__ == "__main__":
    GOLDEN.write_text(written())
