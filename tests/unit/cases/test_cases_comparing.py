"""What the systems say of comparing two runs, case by case; see `test_cases`."""

from dataclasses import replace
from typing import Any

from diffing.compare.run_side import Side, SideStep
from diffing.schemas.report import DiffReport
from diffing.sequences.ranked_lists import compare, rank_documents
from tests.support.comparing import (
    ACCEPTED,
    PROMPT,
    REFUSED,
    Given,
    Store,
    agent,
    compared,
    diff_of,
    model,
    output,
    refund_run,
    said,
    side_of,
    tool,
    user,
)
from tests.unit.cases.test_cases import Case, cases

ASKED = [user("Where is the parcel?")]
ANSWER = said("It is on its way.")


def _side(change: Case, store: Store) -> Side:
    """An agent with one model step that has the columns and payloads of the case."""
    side = side_of([agent(), model(ASKED, ANSWER)], store)
    columns: dict[str, Any] = {
        f"{name}_ref" if name in {"input", "output"} else name: store.save(value)
        if name in {"input", "output"}
        else value
        for name, value in change.items()
    }
    step: SideStep = replace(side.steps[1], signature="", **columns)
    return replace(side, steps=[side.steps[0], step])


def _report(case: Case) -> DiffReport:
    store = Store()
    base, candidate = _side(case["base"], store), _side(case["candidate"], store)
    steps = [replace(one, origin=other.origin) for one, other in zip(candidate.steps, base.steps, strict=True)]
    return compared(base, replace(candidate, steps=steps, run=replace(candidate.run, source_run=base.run.id)), store)


@cases("comparing")
def test_what_counts_as_a_difference(case: Case) -> None:
    report = _report(case)
    [_, pair] = report.pairs
    assert sorted(pair.changes) == case["changed"]
    assert report.deltas.spans_with_differences == (1 if case["changed"] else 0)
    items = [item for name in type(report.sections).model_fields for item in getattr(report.sections, name).items]
    assert all(item.base or item.candidate for item in items)  # each names its steps


@cases("ranks")
def test_how_documents_moved(case: Case) -> None:
    base, candidate = (rank_documents([{"id": name} for name in case[side]]) for side in ("base", "candidate"))
    changes = compare(base, candidate).changes
    moved = [[change.document, change.base_rank, change.candidate_rank] for change in changes if change.op == "moved"]
    assert sorted(moved) == case["moved"]
    for op in ("added", "removed"):
        assert [change.document for change in changes if change.op == op] == case[op]


@cases("causes")
def test_which_change_comes_first(case: Case) -> None:
    base = refund_run(prompt=PROMPT, amount=42, result={"state": "refused"}, status="ok", final=REFUSED)
    change = case["change"]
    candidate = refund_run(
        prompt=change.get("prompt", PROMPT),
        amount=42,
        result={"state": change.get("result", "refused")},
        status="ok",
        final=ACCEPTED,
        model_name=change.get("model", "m1"),
    )
    found = diff_of(base, candidate, derived=True).attribution
    assert found.primary is not None
    assert found.primary.category == case["cause"]


def test_a_step_that_one_side_lacks_is_told_as_such_on_either_side() -> None:
    short: list[Given] = [agent(), output("done")]
    longer = [agent(), tool("get", "c1", {"id": 1}, {"n": 1}), output("done")]
    for base, candidate, relation in ((longer, short, "removed"), (short, longer, "added")):
        [pair] = [pair for pair in diff_of(base, candidate).pairs if pair.relation not in {"same", "moved"}]
        assert (pair.relation, pair.base is None) == (relation, relation == "added")


def test_steps_of_one_name_are_counted_one_by_one_and_in_their_order() -> None:
    def three(answers: str) -> list[Given]:
        return [agent(), *(model([user(f"question {n}")], said(f"{answers} {n}")) for n in range(3))]

    report = diff_of(three("first answer"), three("other words"), derived=True)
    changed = [pair.base.sequence_no for pair in report.pairs if pair.relation == "changed" and pair.base]
    assert changed == [2, 3, 4]
