"""Transitions of statuses, and code that names statuses instead of spelling them."""

import ast
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Final

import pytest

from diffing.schemas.evidence import GateStatus
from diffing.schemas.report import DiffStatus
from replay.core.vocabulary import (
    ACTIVE_STATUSES,
    COMPLETED,
    FAILED,
    FINAL_STATUSES,
    OPEN_STATUSES,
    AttemptStatus,
    BisectionStatus,
    ExperimentStatus,
    ExportStatus,
    ProbeVerdict,
    ProofStatus,
    SessionStatus,
    TrialStatus,
)
from traces.core.vocabulary import RunStatus, StepStatus

_ROOT: Final = Path(__file__).parents[4]
_APPS: Final = ("traces", "diffing", "replay", "cockpit", "forkpoint")
# The words of other programs' formats, of the demo's shop, and of the server's health.
_FOREIGN: Final = (
    "traces/importers/",
    "cockpit/demo/",
    "cockpit/http/",
    "forkpoint/",
    "replay/reruns/core/built_responses.py",
)
_KINDS: Final[list[type[StrEnum]]] = [
    AttemptStatus,
    BisectionStatus,
    DiffStatus,
    ExperimentStatus,
    ExportStatus,
    GateStatus,
    ProbeVerdict,
    ProofStatus,
    RunStatus,
    SessionStatus,
    StepStatus,
    TrialStatus,
]
_WORDS: Final = {str(word) for kind in _KINDS for word in kind}
# These mean nothing else, wherever they stand.
_ONLY_STATUSES: Final = {str(status) for status in SessionStatus if "_" in status}
_FIELDS: Final = ("status", "verdict", "session_status")


def test_session_groups_cover_every_status() -> None:
    assert set(SessionStatus) == FINAL_STATUSES | OPEN_STATUSES
    assert COMPLETED | FAILED | {SessionStatus.CANCELLED} == FINAL_STATUSES
    assert ACTIVE_STATUSES | {SessionStatus.AWAITING_OPERATOR} == OPEN_STATUSES


def test_code_spells_no_status() -> None:
    assert [place for path in _sources() for place in _spelled_statuses(path.read_text(), path)] == []


@pytest.mark.parametrize(
    "code",
    [
        'row.status == "running"',
        '"pending" != row.status',
        'row["status"] in {"pending", "running"}',
        'rows.filter(status="failed")',
        'rows.exclude(session__status__in=("pending", "running"))',
        'row.status, row.error = "cancelled", ""',
        'columns = {"status": "succeeded"}',
        'session["status"].startswith("completed")',
        '_ENDED = ("failed_execution",)',
        'view(status="failed" if code else row.status)',
        'class A:\n    status: Literal["pending", "failed"]',
        'field(status=CharField(default="intended"))',
    ],
)
def test_spelled_status_is_found(code: str) -> None:
    assert list(_spelled_statuses(code, Path("x.py")))


@pytest.mark.parametrize(
    "code", ['phase == "failed"', '"""The replay is completed_exact."""', 'said = "the run failed"']
)
def test_other_words_are_ignored(code: str) -> None:
    assert not list(_spelled_statuses(code, Path("x.py")))


def _sources() -> Iterator[Path]:
    for app in _APPS:
        for path in sorted((_ROOT / app).rglob("*.py")):
            place = path.relative_to(_ROOT).as_posix()
            if "/migrations/" not in place and not place.startswith(_FOREIGN) and not _declares(path.read_text()):
                yield path


def _declares(code: str) -> bool:
    """True if a module declares statuses."""
    return "(Status):\n" in code


def _spelled_statuses(code: str, path: Path) -> Iterator[str]:
    """Locations of status strings in code."""
    tree = ast.parse(code)
    texts = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in texts and node.value in _ONLY_STATUSES:
            yield f"{path}:{node.lineno} {node.value!r}"
        for value in _compared_values(node):
            yield from (f"{path}:{word.lineno} {word.value!r}" for word in _constants(value) if _is_word(word))


def _compared_values(node: ast.AST) -> Iterator[ast.expr]:
    """Values that code compares with a status or assigns to one."""
    match node:
        case ast.Compare(left=left, comparators=others) if any(map(_is_status, (left, *others))):
            yield from (left, *others)
        case ast.keyword(arg=str(name), value=value) if _names_status(name):
            yield value
        case ast.Dict(keys=keys, values=values):
            yield from (value for key, value in zip(keys, values, strict=True) if _is_name(key))
        case ast.Assign(targets=targets, value=value) if any(map(_holds_status, targets)):
            yield value
        case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=value) if name in _FIELDS:
            yield annotation
            if value is not None:
                yield value
        case ast.Call(func=ast.Attribute(value=value, attr="startswith"), args=args) if _is_status(value):
            yield from args


def _constants(value: ast.expr) -> Iterator[ast.Constant]:
    """Strings that an expression may evaluate to or contain, except lookup keys."""
    match value:
        case ast.Constant():
            yield value
        case ast.Tuple(elts=parts) | ast.Set(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from _constants(part)
        case ast.IfExp(body=body, orelse=other):
            yield from (*_constants(body), *_constants(other))
        case ast.BoolOp(values=parts):
            for part in parts:
                yield from _constants(part)
        case ast.Subscript(value=ast.Name(id="Literal"), slice=inside):
            yield from _constants(inside)
        case ast.Call(args=args, keywords=keywords):
            for part in (*args, *(keyword.value for keyword in keywords if keyword.arg == "default")):
                yield from _constants(part)


def _is_word(node: ast.Constant) -> bool:
    return isinstance(node.value, str) and node.value in _WORDS


def _is_status(node: ast.expr) -> bool:
    match node:
        case ast.Attribute(attr=name):
            return name in _FIELDS
        case ast.Subscript(slice=ast.Constant(value=name)):
            return name in _FIELDS
    return False


def _is_name(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value in _FIELDS


def _holds_status(node: ast.expr) -> bool:
    return _is_status(node) or (isinstance(node, ast.Tuple) and any(map(_is_status, node.elts)))


def _names_status(name: str) -> bool:
    """True if a keyword is a status or a lookup of one."""
    return name.removesuffix("__in").rpartition("__")[2] in _FIELDS
