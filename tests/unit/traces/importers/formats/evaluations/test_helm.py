"""Scenarios of HELM."""

from typing import Any

import orjson

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import JudgementKind, RunStatus, StepStatus
from traces.importers import registry
from traces.importers.files.source import Source

SCENARIO: Any = fixtures.source("helm_state.json").value
MATCH = {"name": {"name": "exact_match", "split": "test"}, "count": 1, "sum": 1, "mean": 1.0}
STATISTICS = [
    {"instance_id": "id1", "train_trial_index": 0, "stats": [MATCH, {"name": {"name": "empty"}, "count": 0}]},
    {"instance_id": "id1", "train_trial_index": 0, "perturbation": {"name": "typos"}, "stats": [{**MATCH, "mean": 0}]},
]


def test_requests_are_runs() -> None:
    first, perturbed, failed = fixtures.runs("helm_state.json")
    (step,) = first.steps
    assert (step.model, step.provider) == ("gpt-4o-mini", "openai")
    assert step.input == {
        "messages": [fixtures.REQUEST],
        "parameters": {"temperature": 0.0, "num_completions": 1, "max_tokens": 5, "stop": ["\n"]},
    }
    assert step.output == {"message": {"role": "assistant", "content": "Yes"}, "finish_reason": "stop"}
    assert (step.attributes["logprob"], step.attributes["other_completions"]) == (-0.5, ["No"])
    assert (str(step.started_at), str(step.ended_at)) == (
        "2026-03-01 10:00:00+00:00",
        "2026-03-01 10:00:01.500000+00:00",
    )
    assert (failed.status, failed.steps[0].status) == (RunStatus.FAILED, StepStatus.ERROR)
    assert failed.steps[0].error == "429 too many requests"
    assert len({run.external_id for run in (first, perturbed, failed)}) == 3


def test_statistics_become_judgements() -> None:
    first, perturbed, failed = fixtures.read("helm", [STATISTICS], [SCENARIO])
    assert [[(item.name, item.kind, item.value) for item in run.judgements] for run in (first, perturbed, failed)] == [
        [("exact_match", JudgementKind.SCORE, 1.0)],
        [("exact_match", JudgementKind.SCORE, 0.0)],
        [],
    ]
    runs, problems = fixtures.detect_and_read("helm", orjson.dumps(STATISTICS))
    assert (runs, len(problems)) == ([], 1)
    assert "import them together with `scenario_state.json`" in problems[0]


def test_statistics_belong_to_their_folder() -> None:
    """Instances of other scenarios have the same ids."""
    other: Any = {**SCENARIO, "adapter_spec": {"model": "other"}}
    files = {"a/state.json": SCENARIO, "b/state.json": other, "b/statistics.json": STATISTICS}
    in_folders = [Source(name=name, data=orjson.dumps(value)) for name, value in files.items()]
    runs = list(registry.get_importer("helm").runs(in_folders))
    assert [bool(run.judgements) for run in runs] == [False, False, False, True, True, False]
    together = [Source(name=file.name.replace("/", "-"), data=file.data) for file in in_folders]
    assert not any(run.judgements for run in registry.get_importer("helm").runs(together))
    assert "may be of several scenarios" in str(together[-1].problems[0])
