"""Comparison of two runs as other systems define it, case by case; see `test_cases`."""

from dataclasses import replace
from typing import Any

from diffing.compare.run_side import Side, SideStep
from diffing.schemas.report import DiffReport
from diffing.sequences.ranked_lists import compare, rank_documents
from tests.support.comparing import (
    CONFIRMATION,
    PROMPT,
    REJECTION,
    Spec,
    Store,
    agent,
    diff_of,
    model,
    output,
    refund_run,
    reply,
    report_of,
    side_of,
    tool,
    user,
)
from tests.unit.cases.test_cases import Case, cases

QUESTION = [user("Where is the parcel?")]
ANSWER = reply("It is on its way.")


def _side(change: Case, store: Store) -> Side:
    """An agent with one model step that has the case's columns and payloads."""
    side = side_of([agent(), model(QUESTION, ANSWER)], store)
    columns: dict[str, Any] = {
        f"{name}_ref" if name in {"input", "output"} else name: store.save(value)
        if name in {"input", "output"}
        else value
        for name, value in change.items()
    }
    step: SideStep = side.steps[1]._replace(signature="", **columns)
    return replace(side, steps=[side.steps[0], step])


def _report(case: Case) -> DiffReport:
    store = Store()
    base, candidate = _side(case["base"], store), _side(case["candidate"], store)
    steps = [
        step._replace(origin=base_step.origin) for step, base_step in zip(candidate.steps, base.steps, strict=True)
    ]
    return report_of(base, replace(candidate, steps=steps, run=replace(candidate.run, source_run=base.run.id)), store)


@cases("comparing")
def test_differences(case: Case) -> None:
    report = _report(case)
    [_, pair] = report.pairs
    assert sorted(pair.changes) == case["changed"]
    assert report.deltas.spans_with_differences == (1 if case["changed"] else 0)
    items = [item for name in type(report.sections).model_fields for item in getattr(report.sections, name).items]
    # Each names its steps
    assert all(item.base or item.candidate for item in items)


@cases("ranks")
def test_movement_of_documents(case: Case) -> None:
    base, candidate = (rank_documents([{"id": name} for name in case[side]]) for side in ("base", "candidate"))
    changes = compare(base, candidate).changes
    rank_changes = [
        [change.document, change.base_rank, change.candidate_rank] for change in changes if change.op == "moved"
    ]
    assert sorted(rank_changes) == case["moved"]
    for op in ("added", "removed"):
        assert [change.document for change in changes if change.op == op] == case[op]


@cases("causes")
def test_order_of_changes(case: Case) -> None:
    base = refund_run(prompt=PROMPT, amount=42, result={"state": "refused"}, status="ok", final=REJECTION)
    change = case["change"]
    candidate = refund_run(
        prompt=change.get("prompt", PROMPT),
        amount=42,
        result={"state": change.get("result", "refused")},
        status="ok",
        final=CONFIRMATION,
        model_name=change.get("model", "m1"),
    )
    attribution = diff_of(base, candidate, derived=True).attribution
    assert attribution.primary is not None
    assert attribution.primary.category == case["cause"]


def test_step_on_one_side_only() -> None:
    short: list[Spec] = [agent(), output("done")]
    longer = [agent(), tool("get", "c1", {"id": 1}, {"n": 1}), output("done")]
    for base, candidate, relation in ((longer, short, "removed"), (short, longer, "added")):
        [pair] = [pair for pair in diff_of(base, candidate).pairs if pair.relation not in {"same", "moved"}]
        assert (pair.relation, pair.base is None) == (relation, relation == "added")


def test_steps_with_equal_names_pair_in_order() -> None:
    def three(answers: str) -> list[Spec]:
        return [agent(), *(model([user(f"question {n}")], reply(f"{answers} {n}")) for n in range(3))]

    report = diff_of(three("first answer"), three("other words"), derived=True)
    changed = [pair.base.sequence_no for pair in report.pairs if pair.relation == "changed" and pair.base]
    assert changed == [2, 3, 4]
