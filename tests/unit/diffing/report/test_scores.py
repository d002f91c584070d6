"""ARS, tool accuracy and the configuration score, as documented."""

from dataclasses import replace

import pytest

from diffing.compare.run_side import Side, SideStep
from diffing.report.scores import determinism, reading, regression_score, tool_accuracy
from diffing.schemas.report import DiffReport, ToolAccuracy
from tests.support.comparing import (
    Spec,
    Store,
    agent,
    diff_of,
    model,
    output,
    reply,
    report_of,
    side_of,
    tool,
    user,
)
from traces.core.json_types import JSONObject
from traces.core.vocabulary import StepType


@pytest.mark.parametrize(
    ("total", "used", "new", "unused", "accuracy"),
    [
        (5, 4, 1, 1, 0.6),
        (5, 5, 0, 0, 1.0),
        (2, 0, 2, 2, 0.0),
        (10, 2, 0, 8, 0.0),
        (3, 2, 0, 1, 0.5667),
        (1, 1, 5, 0, 0.5),
        (1, 1, 6, 0, 0.5),
        (0, 0, 0, 0, 1.0),
        (0, 0, 1, 0, 0.5),
    ],
)
def test_tool_accuracy(total: int, used: int, new: int, unused: int, accuracy: float) -> None:
    counts = ToolAccuracy(total_original=total, used_original=used, new=new, unused=unused)
    assert tool_accuracy(counts) == pytest.approx(accuracy, abs=5e-5)


@pytest.mark.parametrize(
    ("similarity", "accuracy", "ars"),
    [(0.95, 0.6, 0.845), (0.75, 1.0, 0.825), (0.4902, 1.0, 0.6431), (0.3613, 0.9, 0.5229)],
)
def test_regression_score(similarity: float, accuracy: float, ars: float) -> None:
    assert regression_score(similarity, accuracy) == ars


@pytest.mark.parametrize(("ars", "words"), [(0.9, "excellent"), (0.7, "good"), (0.5, "moderate"), (0.4999, "poor")])
def test_readings(ars: float, words: str) -> None:
    assert reading(ars) == words


def turns(*answers: str) -> list[Spec]:
    return [
        agent(),
        *(
            Spec(
                type=StepType.TURN,
                name="turn",
                parent=1,
                input={"messages": [user(f"question {n}")]},
                output={"message": reply(answer)},
            )
            for n, answer in enumerate(answers)
        ),
    ]


def test_unpaired_interaction_scores_zero() -> None:
    assert diff_of(turns("a", "b", "c"), turns("a")).scores.output_similarity == pytest.approx(1 / 3, abs=1e-4)


def test_equal_answers_need_no_method() -> None:
    scores = diff_of(turns("Paris"), turns("Paris")).scores
    assert (scores.ars, scores.ars_reading, scores.similarity_method) == (1.0, "excellent", "identical")


def calls(*arguments: int) -> list[Spec]:
    return [agent(), *(tool("get", "c1", {"id": n}, {"n": n}) for n in arguments), output("done")]


def tools(report: DiffReport) -> tuple[int, int, int, int]:
    counts = report.scores.tools
    return counts.total_original, counts.used_original, counts.new, counts.unused


def test_recorded_call_counts_once() -> None:
    assert tools(diff_of(calls(1, 1, 2), calls(1, 2, 2))) == (3, 2, 1, 1)


def test_semantic_hit_counts_its_original() -> None:
    base, candidate = calls(1), calls(9)
    candidate[1] = replace(candidate[1], reason="cache_hit_semantic_match")
    assert tools(diff_of(base, candidate)) == (1, 1, 0, 0)


def test_configuration_score() -> None:
    def step(name: str) -> SideStep:
        return side_of([model([user("Hi")], reply("Hello"), model=name)], Store()).steps[0]

    base: JSONObject = {"parameters": {"temperature": 0.0, "seed": 42}}
    warmer: JSONObject = {"parameters": {"temperature": 0.5, "seed": 42}}
    hot: JSONObject = {"parameters": {"temperature": 2.0}}
    assert determinism((step("m"), base), (step("m"), base)) == 1.0
    assert determinism((step("m"), base), (step("m"), warmer)) == 0.875
    assert determinism((step("m"), base), (step("n"), base)) == 0.75
    assert determinism((step("m"), base), (step("m"), hot)) == 0.625  # the temperature factor stops at 0
    assert determinism((step("m"), None), (step("m"), None)) == 0.75  # unknown is not agreement


def with_times(side: Side, duration: float, cost: float) -> Side:
    return replace(side, steps=[step._replace(duration_ms=duration, cost_usd=cost) for step in side.steps])


def test_small_time_and_cost_differences_are_ignored() -> None:
    store = Store()
    base, candidate = side_of(calls(1), store), side_of(calls(1), store)
    slow = report_of(with_times(base, 100, 0.01), with_times(candidate, 110, 0.01005), store)
    slower = report_of(with_times(base, 100, 0.01), with_times(candidate, 111, 0.0102), store)
    from_nothing = report_of(with_times(base, 0, 0.01), with_times(candidate, 500, 0.01), store)
    assert (slow.deltas.duration_changes, slow.deltas.cost_changes) == (0, 0)
    assert (slower.deltas.duration_changes, slower.deltas.cost_changes) == (3, 3)
    assert from_nothing.deltas.duration_changes == 3
    assert all(pair.relation == "same" for pair in slower.pairs)


def test_turn_without_output_uses_last_model() -> None:
    def run(text: str, *, recorded: bool) -> list[Spec]:
        head = Spec(
            type=StepType.TURN,
            name="turn",
            parent=1,
            input={"messages": [user("Where is it?")]},
            output={"message": reply(text)} if recorded else None,
        )
        return [agent(), head, replace(model([user("Where is it?")], reply(text)), parent=2)]

    scores = diff_of(run("In Bern.", recorded=True), run("In Bern.", recorded=False)).scores
    assert scores.output_similarity == 1.0


def test_imported_scores_are_reported() -> None:
    store = Store()
    base, candidate = side_of(calls(1), store), side_of(calls(1), store)
    candidate_with_scores = replace(candidate, run=replace(candidate.run, metadata={"imported_scores": {"ars": 0.825}}))
    report = report_of(base, candidate_with_scores, store)
    assert report.scores.imported == {"candidate": {"ars": 0.825}}
    assert not report.sections.run.items


def with_tokens(side: Side, count: int) -> Side:
    steps = [
        step._replace(tokens_in=count, tokens_out=0) if step.type == StepType.MODEL else step for step in side.steps
    ]
    return replace(
        side, steps=steps, run=replace(side.run, tokens_in=count * sum(s.type == StepType.MODEL for s in steps))
    )


def test_tokens_are_unknown_where_no_call_has_any() -> None:
    store = Store()
    specs = [agent(), model([user("Hi")], reply("Hello"))]
    unknown, counted = side_of(specs, store), with_tokens(side_of(specs, store), 20)
    without_models = side_of([agent(), output("Hello")], store)
    assert report_of(unknown, counted, store).deltas.tokens is None
    report = report_of(unknown, unknown, store)
    assert (report.deltas.tokens, report.sections.run.summary) == (None, "Both completed; the same number of steps.")
    assert [gap.what for gap in report.sections.run.unavailable] == ["tokens", "cost"]
    assert report_of(with_tokens(unknown, 0), counted, store).deltas.tokens == 20
    assert report_of(without_models, counted, store).deltas.tokens == 20


def test_unreadable_answer_has_no_similarity() -> None:
    store = Store()
    base = side_of([agent(), output("The parcel is lost.")], store)
    candidate = side_of([agent(), output("It arrives tomorrow.")], store)
    del store.values[candidate.steps[1].output_ref]
    report = report_of(base, candidate, store)
    assert (report.scores.output_similarity, report.scores.similarity_method) == (0.0, "unavailable")


def test_unreadable_steps_are_no_agreement() -> None:
    """Nothing is known about them, not that they are the same."""
    store = Store()
    sides = [
        side_of([agent(), model([user("Hi")], reply(f"{word} one")), model([user("Go")], reply(word))], store)
        for word in ("late", "lost")
    ]
    for side in sides:
        for step in side.steps[1:]:
            store.values.pop(step.output_ref, None)
    base, candidate = sides
    report = report_of(base, candidate, store)
    assert (report.attribution.verdict, report.summary) == (
        "inconclusive",
        "The final answers differ. The cause may be in step 2 (model chat) and 1 more step, whose contents were not "
        "compared.",
    )
