"""Runs that declare different code, unless a recorded change accounts for that."""

from dataclasses import replace
from typing import Final

import pytest

from diffing.attribution.declared_code import is_code_different, is_code_equal
from diffing.report.examination import Examination, examine
from tests.support.comparing import Spec, Store, model, output, reply, side_of, system, user
from traces.core.json_types import JSONObject

OLD: Final[JSONObject] = {"logic": "a", "source": "a"}
NEW: Final[JSONObject] = {"logic": "b", "source": "b"}
PROSE: Final[JSONObject] = {"logic": "a", "source": "b"}


def desk_run(prompt: str = "Answer.", *, model_name: str = "m1") -> list[Spec]:
    request = model([system(prompt), user("Where is order 7?")], reply("On its way."), model=model_name)
    return [request, output("On its way.")]


def examined(base: JSONObject, candidate: JSONObject, changed_run: list[Spec]) -> Examination:
    store = Store()
    before, after = (
        replace(side, run=replace(side.run, metadata=metadata))
        for side, metadata in ((side_of(desk_run(), store), base), (side_of(changed_run, store), candidate))
    )
    return examine(before, after, lambda refs: {ref: store.values[ref] for ref in refs if ref in store.values})


def differs(base: JSONObject, candidate: JSONObject, changed_run: list[Spec]) -> bool:
    examination = examined(base, candidate, changed_run)
    return is_code_different(examination.comparison, examination.reasoning.atoms)


@pytest.mark.parametrize(
    ("base", "candidate", "is_different"),
    [
        ({"code": OLD}, {"code": NEW}, True),
        ({"code": OLD}, {"code": PROSE}, False),
        ({"code": OLD}, {}, False),
        ({"commit": "1f3"}, {"commit": "9a0"}, True),
        ({"service.version": "1.2"}, {"service.version": "1.2"}, False),
        ({"code": OLD, "commit": "1f3"}, {"code": OLD, "commit": "9a0"}, False),
    ],
)
def test_versions_of_both_runs_are_compared(base: JSONObject, candidate: JSONObject, is_different: bool) -> None:
    assert differs(base, candidate, desk_run()) is is_different


@pytest.mark.parametrize(
    ("changed_run", "by_logic", "by_commit"),
    [(desk_run("Answer briefly."), True, False), (desk_run(model_name="m2"), False, False)],
)
def test_what_may_be_written_in_the_code_accounts_for_another_version(
    changed_run: list[Spec], by_logic: bool, by_commit: bool
) -> None:
    assert differs({"code": OLD}, {"code": NEW}, changed_run) is by_logic
    assert differs({"commit": "1f3"}, {"commit": "9a0"}, changed_run) is by_commit


@pytest.mark.parametrize(
    ("base", "candidate", "is_equal"),
    [
        ({"code": OLD}, {"code": PROSE}, True),
        ({"code": OLD}, {"code": NEW}, False),
        ({"code": OLD}, {}, False),
        ({}, {}, False),
        ({"commit": "1f3"}, {"commit": "1f3"}, False),
    ],
)
def test_code_is_equal_if_both_runs_recorded_the_same_logic(
    base: JSONObject, candidate: JSONObject, is_equal: bool
) -> None:
    assert is_code_equal(examined(base, candidate, desk_run()).comparison) is is_equal
