"""Two runs recorded in different detail: calls and prompts that one of them lacks."""

import pytest

from replay.proofs.counterfactual.recording_detail import RecordingDetail, recording_detail
from tests.support.comparing import Spec, agent, model, output, reply, system, tool, user
from tests.unit.replay.proofs.changes.test_roots import examine_runs
from traces.core.vocabulary import StepType

SEARCH = Spec(type=StepType.RETRIEVAL, name="search", parent=1, input={"query": "tea"}, output={"documents": []})
CALL = tool("get_order", "", {"id": 7}, {"price": 5})


def run(*prompts: str, answer: str = "Yes.", search: bool = True, models: bool = True) -> list[Spec]:
    names = ("sorter", "writer")
    requests = [[*([system(text)] if text else []), user(name)] for name, text in zip(names, prompts, strict=True)]
    calls = [model(messages, reply(answer)) for messages in requests] if models else []
    return [agent(), *([SEARCH] if search else []), CALL, *calls, output(answer)]


FULL = run("Sort it.", "Write it.")


@pytest.mark.parametrize(
    ("candidate", "detail"),
    [
        (run("Sort it.", "Write it well.", answer="No."), RecordingDetail()),
        (run("Sort it.", "", answer="No."), RecordingDetail()),
        (run("", "", answer="No."), RecordingDetail(lacks_models=True)),
        (run("", "", answer="No.", models=False), RecordingDetail(lacks_models=True)),
        (run("Sort it.", "Write it.", answer="No.", search=False), RecordingDetail(lacks_lookups=True)),
    ],
)
def test_detail_of_either_run_is_compared(candidate: list[Spec], detail: RecordingDetail) -> None:
    assert recording_detail(examine_runs(FULL, candidate)) == detail
    assert recording_detail(examine_runs(candidate, FULL)) == detail


def test_two_runs_of_tools_alone_have_the_same_detail() -> None:
    base, candidate = (run("", "", answer=answer, models=False) for answer in ("Yes.", "No."))
    assert recording_detail(examine_runs(base, candidate)) == RecordingDetail()
