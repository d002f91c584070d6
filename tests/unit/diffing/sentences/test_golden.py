"""One file contains every sentence of a report, each with example values.

After a change of the wording, read the difference, and rewrite the file:
`.venv/bin/python -m tests.unit.diffing.sentences.test_golden`.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

import diffing.sentences
from diffing.sentences import evidence_lines, labels
from tests.unit.diffing.sentences import atom_examples, examples, headline_examples, report_examples
from traces.core.vocabulary import EdgeKind

GOLDEN: Final = Path(__file__).parents[3] / "fixtures" / "sentences.golden.txt"
BROWSER_WORDS: Final = Path(__file__).parents[4] / "frontend" / "src" / "pages" / "diff" / "proof" / "wording.ts"
MODULES: Final = sorted(Path(next(iter(diffing.sentences.__path__))).rglob("*.py"))
PARTS: Final = {
    "Attribution": examples.attribution_lines,
    "Headlines": headline_examples.headline_lines,
    "Changes": examples.change_lines,
    "Proofs": examples.proof_lines,
    "Tested changes": atom_examples.atom_lines,
    "Why a change cannot be tested": atom_examples.obstacle_lines,
    "Why a probe has no answer": atom_examples.gap_lines,
    "Brief": report_examples.brief_lines,
    "Sections": report_examples.section_lines,
    "Evidence": report_examples.evidence_view_lines,
    "Labels": report_examples.label_lines,
}
_FIELD: Final = re.compile(r"\{[\w:.]*\}")


def golden_text() -> str:
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
            yield from (name for comparator in node.comparators for name in ast.walk(comparator))
        if isinstance(node, ast.Dict):
            yield from filter(None, node.keys)


def test_sentences_match_the_golden_file() -> None:
    assert golden_text().splitlines() == GOLDEN.read_text().splitlines()


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.stem)
def test_golden_file_contains_every_text(module: Path) -> None:
    golden = GOLDEN.read_text()
    assert [text for text in fragments(module) if text not in golden] == []


@pytest.mark.parametrize("words", [evidence_lines.VERDICTS, evidence_lines.OUTCOMES], ids=["verdicts", "outcomes"])
def test_browser_uses_the_same_words(words: Mapping[str, str]) -> None:
    browser = BROWSER_WORDS.read_text()
    assert [key for key, text in words.items() if not re.search(rf'\b{key}: (\{{ words: )?"{text}"', browser)] == []


def test_every_link_has_a_label() -> None:
    assert labels.LINK_KINDS.keys() == {"cause", *EdgeKind}


if __name__ == "__main__":
    GOLDEN.write_text(golden_text())
