"""Containers that close: their labels, and results that agents without a tool step hand over."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from uuid import UUID

from replay.core.calls import CachedAnswer
from replay.engine.replayer import Replayer
from tests.support.agent_runs import ANSWER, HEIGHT, RESEARCH, SUB_AGENT, Reply, agent_run
from tests.support.memory_replays import MemoryEnvironment, labels, replay, resolved_step
from tests.unit.replay.loops.test_subagents import number
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import Label, StepStatus, StepType

VERDICT: JSONObject = {"text": "Yes.", "score": 7}


@dataclass
class CacheEnvironment(MemoryEnvironment):
    """An environment whose cache answers every call with "No."."""

    def cached(self, signature: str, *, exclude: Collection[UUID]) -> CachedAnswer | None:
        output: JSONValue = {"message": {"role": "assistant", "content": "No."}}
        return CachedAnswer(output_ref="", output=output, status=StepStatus.OK, location={})


def reported_verdict() -> RecordedRun:
    """A run whose report repeats the verdict of an agent; no model said the score."""
    agent = replace(RESEARCH, answering_type=StepType.AGENT, turns=((HEIGHT,), Reply("Yes.")))
    run = agent_run(((agent,), ANSWER))
    steps = [replace(step, output=VERDICT) if step.name == "researcher" else step for step in run.steps]
    researcher = next(step.key for step in steps if step.name == "researcher")
    report = RecordedStep(
        key="report", type=StepType.OUTPUT, name="report", parent="main", output=VERDICT, links=(researcher,)
    )
    return replace(run, steps=(*steps, report))


def two_verdicts() -> RecordedRun:
    """An agent that hands over its first answer, while its output is the second; a report repeats the first."""
    agent = replace(RESEARCH, answering_type=StepType.AGENT, turns=(Reply("Yes."),))
    run = agent_run(((agent,), ANSWER))
    researcher, first = (run.steps[number(run, type, 1) - 1] for type in (StepType.AGENT, StepType.MODEL))
    second = replace(first, key="second", output={"message": {"role": "assistant", "content": "300 metres."}})
    report = RecordedStep(
        key="report",
        type=StepType.OUTPUT,
        name="report",
        parent="main",
        input={"form": "short"},
        output={"text": "Yes."},
        links=(researcher.key,),
    )
    steps: list[RecordedStep] = []
    for step in run.steps:
        steps.append(replace(step, output="300 metres.") if step is researcher else step)
        steps += [second] if step is first else []
    return replace(run, steps=(*steps, report))


def test_agent_open_at_fork_is_closed() -> None:
    run = agent_run(SUB_AGENT)
    last = number(run, StepType.MODEL, 3)
    fork = replay({"match": {"step": last}, "output": "Nobody has measured it."}, run=run, fork=last)
    assert labels(fork.execute())[1] == "simulated derived"
    plan = fork.plan()
    planned_steps = {step.sequence_no: step for step in plan.steps}
    assert (planned_steps[1].label, planned_steps[1].reason) == (Label.SIMULATED, "derived")
    assert plan.actions["inherited"] == last - 2
    assert plan.counts.exact + plan.counts.cached + plan.counts.simulated == len(run.steps)


def test_result_is_no_stronger_than_container() -> None:
    run = reported_verdict()
    entry: JSONValue = {"match": {"step": number(run, StepType.MODEL, 2)}, "model": {"temperature": 1}}
    fork = replay(entry, run=run)
    events = list(Replayer(fork.context(CacheEnvironment(payloads=fork.payloads))).run())
    assert resolved_step(events, len(run.steps)).answer.output == {"text": "No.", "score": 7}
    by_step = labels(events)
    assert by_step[number(run, StepType.MODEL, 2)].startswith("cached")
    assert by_step[number(run, StepType.AGENT, 1)] == "simulated assumed_unaffected"
    assert by_step[len(run.steps)] == "simulated assumed_unaffected"


def test_result_is_no_stronger_than_origin() -> None:
    run = two_verdicts()
    events = replay({"match": {"step": number(run, StepType.MODEL, 1)}, "output": "No."}, run=run).execute()
    assert resolved_step(events, len(run.steps)).answer.output == {"text": "No."}
    by_step = labels(events)
    assert by_step[number(run, StepType.AGENT, 1)] == "exact derived"
    assert by_step[len(run.steps)] == "simulated simulation_operator_override"
