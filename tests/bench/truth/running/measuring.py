"""Measure programs that run as processes: wrong labels, broken promises of plans, and miscounted calls."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from tests.bench.truth.agent import as_text
from tests.bench.truth.judging import MEMORY, Truth, findings
from tests.bench.truth.programs import Program, random_changes, random_program
from tests.bench.truth.running.forking import Bench, overrides
from tests.bench.truth.runtime import NOTE_TOOLS, Changes, Runtime
from tests.bench.truth.statements import IMPLICIT_TOOLS
from traces.core.canonical import digest
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedStep
from traces.core.vocabulary import StepType
from traces.payloads.messages import Message, ModelAnswer, ModelRequest

_LABELS: Final = ("exact", "cached", "simulated")
_LIVE: Final = "live_model_call"
# What docs/rerun.md names: edits stay in a conversation, and a change may never be reached.
EDIT: Final = "edit that stays in the conversation"
UNAPPLIED: Final = "change that the agent never reached"
# Type of a step, its tool, and which of those it is.
Place = tuple[str, str, int]


@dataclass
class Tally:
    """Counts of a measurement. `wrong`: by kind and whether the documentation names it, with examples."""

    programs: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    steps: Counter[str] = field(default_factory=Counter)
    wrong: dict[tuple[str, str, bool], list[str]] = field(default_factory=dict)

    @property
    def is_right(self) -> bool:
        return all(is_named for _, _, is_named in self.wrong)

    def add(self, mode: str, kind: str, example: str, *, is_named: bool = False) -> None:
        self.wrong.setdefault((mode, kind, is_named), []).append(example)


@dataclass(frozen=True)
class Case:
    """A recorded program with the changes of a fork, and what the changed program really does."""

    seed: str
    run: str
    recorded: Runtime
    true: Runtime
    changes: Changes
    # Numbers of the steps of the recording by their keys.
    numbers: Mapping[str, int]

    @property
    def fork(self) -> int:
        return min(self.numbers[key] for key in self.changes)

    def request(self, *allow: str) -> dict[str, Any]:
        entries = overrides(self.changes, self.numbers)
        return {
            "run": self.run,
            "fork_step": self.fork,
            "overrides": {"overrides": entries},
            "policy": {"allow": [*allow]},
        }


def measure(bench: Bench, seed: str, tally: Tally) -> None:
    """Record, fork and judge one program."""
    program, random = random_program(seed, bench.kind), Random(f"{seed}/changes")
    recorded = _run(program, {})
    # No statement of a program reads a changed answer of these.
    changeable_steps = [step for step in recorded.steps if step.name not in IMPLICIT_TOOLS]
    if not (changes := random_changes(random, changeable_steps)):
        return
    tally.programs += 1
    mode = random.choice(("plain", "stream"))
    run = bench.record(seed, mode)
    steps = bench.steps(run)
    views, own_steps = _by_place(steps), _by_true_place(recorded.steps)
    if views.keys() != own_steps.keys():
        tally.add("recording", "other steps than the program's", seed)
        return
    numbers = {step.key: views[place]["sequence_no"] for place, step in own_steps.items()}
    case = Case(seed, run, recorded, _run(program, changes), changes, numbers)
    _follow(bench, case, tally, "followed")
    _follow(bench, case, tally, "followed live", "model")
    _run_agent(bench, case, mode, tally)


class ConversationRuntime(Runtime):
    """Records the calls that a model's conversation shows, as a gateway does."""

    def answer_without_step(self, place: str, name: str, arguments: JSONObject, result: JSONValue) -> None:
        key, _ = self._next(f"{place}:{name}")
        self._record(key, StepType.TOOL, name, arguments, as_text(result), tool_name=name)


def _run(program: Program, changes: Changes) -> Runtime:
    runtime = ConversationRuntime(changes)
    program.run_in(runtime)
    return runtime


def _by_place(steps: Sequence[Any]) -> dict[Place, Any]:
    """Steps by their type, tool and number among those."""
    counts: Counter[tuple[str, str]] = Counter()
    views: dict[Place, Any] = {}
    for step in steps:
        kind = step["type"], step["tool_name"] or ""
        counts[kind] += 1
        views[*kind, counts[kind]] = step
    return views


def _by_true_place(steps: Sequence[RecordedStep]) -> dict[Place, RecordedStep]:
    counts: Counter[tuple[str, str]] = Counter()
    places: dict[Place, RecordedStep] = {}
    for step in steps:
        kind = str(step.type), step.tool_name or ""
        counts[kind] += 1
        places[*kind, counts[kind]] = step
    return places


def _follow(bench: Bench, case: Case, tally: Tally, mode: str, *allow: str) -> None:
    request = case.request(*allow)
    plan, calls = bench.preview(request), len(bench.calls)
    session = bench.follow(request)
    if "id" not in session or plan.get("refusals"):
        tally.refused[mode] += 1
        if ("id" in session) == bool(plan.get("refusals")):
            tally.add(mode, "plan and launch disagree on a refusal", f"{case.seed} {session.get('detail')}")
        return
    steps = bench.steps(session["run"])
    for kind in _count_faults(session, steps, len(bench.calls) - calls):
        tally.add(mode, kind, case.seed)
    source_numbers = {view["id"]: view["sequence_no"] for view in bench.steps(case.run)}
    if not allow:
        _compare_with_plan(plan, steps, {no: id for id, no in source_numbers.items()}, case, tally, mode)
    labels = {source_numbers[step["source_step"]]: step for step in steps if step["source_step"] in source_numbers}
    end = min((step["sequence_no"] for step in steps if _is_untrue_call(step, case)), default=len(steps) + 1)
    exact_keys = [
        key
        for key, no in case.numbers.items()
        if no >= case.fork and no in labels and labels[no]["label"] == "exact" and labels[no]["sequence_no"] < end
    ]
    tally.steps[f"{mode}: exact"] += len(exact_keys)
    truth = Truth.of(case.recorded, case.true)
    for finding in [*findings(truth, exact_keys)][:1]:
        tally.add(mode, finding.kind, f"{case.seed} {finding.key}", is_named=finding.is_named)


def _count_faults(session: Any, steps: Sequence[Any], calls: int) -> Iterator[str]:
    counts = Counter(step["label"] for step in steps)
    if any(session["counts"][label] != counts[label] for label in _LABELS):
        yield f"counts of the session {session['counts']}, of its steps {dict(counts)}"
    live_steps = sum(step["reason"] == _LIVE and "derived_from" not in step["detail"] for step in steps)
    if not session["live_calls"] == calls == live_steps:
        yield f"live calls: {session['live_calls']} counted, {live_steps} steps, {calls} really"


def _compare_with_plan(
    plan: Any, steps: Sequence[Any], source_ids: Mapping[int, str], case: Case, tally: Tally, mode: str
) -> None:
    """A plan without live calls knows everything that its replay does with the recorded steps."""
    labels = {step["source_step"]: f"{step['label']} {step['reason']}" for step in steps if step["source_step"]}
    for planned_step in plan["steps"]:
        planned = f"{planned_step['label']} {planned_step['reason']}"
        label = labels.get(source_ids[planned_step["sequence_no"]], "None ")
        if planned != label:
            tally.add(mode, f"planned {planned}, replayed {label}", f"{case.seed} step {planned_step['sequence_no']}")
            break
    counts = Counter(step["label"] for step in steps if step["source_step"])
    if any(plan["counts"][label] != counts[label] for label in _LABELS):
        tally.add(mode, f"planned {plan['counts']}, replayed {dict(counts)}", case.seed)


def _is_untrue_call(step: Any, case: Case) -> bool:
    """True if a live model was asked what the true run does not ask, so that anything may follow."""
    requests = {_request_key(true_step.input) for true_step in case.true.steps if true_step.type == "model"}
    return bool(step["reason"] == _LIVE and step["type"] == "model" and _request_key(step["input"]) not in requests)


def _run_agent(bench: Bench, case: Case, mode: str, tally: Tally) -> None:
    calls = len(bench.calls)
    entries = overrides(case.changes, case.numbers)
    run, output = bench.rerun(case.run, case.fork, entries, case.seed, mode)
    if not run:
        tally.refused["agent"] += 1
        tally.refused[f"agent: {output.strip().splitlines()[-1][:100]}"] += 1
        return
    steps = bench.steps(run)
    live_steps = sum(step["reason"] == _LIVE and "derived_from" not in step["detail"] for step in steps)
    counted = next((line for line in output.splitlines() if "live calls of all starts" in line), "0: 0,")
    printed = int(counted.partition(": ")[2].partition(",")[0])
    if not live_steps == len(bench.calls) - calls == printed:
        kind = f"live calls: {live_steps} steps, {len(bench.calls) - calls} really, {printed} printed"
        tally.add("agent", kind, case.seed)
    views, has_notes = _by_place(steps), False
    kind = EDIT if any({"messages", "prompt"} & change.keys() for change in case.changes.values()) else ""
    kind = UNAPPLIED if "changes that were not applied" in output else kind
    for place, true in _by_true_place(case.true.steps).items():
        step, has_notes = views.pop(place, None), has_notes or true.name in NOTE_TOOLS
        if step is None or _result(step, true) != _true_result(true):
            # An agent or a turn ends after its steps.
            if true.type in ("agent", "turn") and (kind or _has_notes(case.true.steps)):
                continue
            label = "missing" if step is None else f"{step['label']} {step['reason']}"
            named_kind = kind or (MEMORY if has_notes else "")
            difference = f"{true.type} {label} is not what the program does"
            tally.add("agent", named_kind or difference, f"{case.seed} {true.key}", is_named=bool(named_kind))
            if label.startswith("exact") and not named_kind:
                tally.add("agent", f"wrong {label} {true.type}", f"{case.seed} {true.key}")
            return
        tally.steps[f"agent: {step['label']}"] += 1
    if views:
        named_kind = kind or (MEMORY if has_notes else "")
        tally.add("agent", named_kind or "other steps than the program's", case.seed, is_named=bool(named_kind))


def _has_notes(steps: Sequence[RecordedStep]) -> bool:
    return any(step.name in NOTE_TOOLS for step in steps)


def _result(step: Any, true: RecordedStep) -> str:
    """Request and answer of a step, for comparison with those of the program."""
    if true.type == "model":
        return digest([_request_key(step["input"]), _answer_key(step["output"])])
    if true.type == "prompt":
        return digest(step["output"])
    if true.status != "ok" or step["status"] != "ok":
        return digest([step["input"], step["status"]])
    return digest([step["input"], step["output"]])


def _true_result(true: RecordedStep) -> str:
    if true.type == "model":
        return digest([_request_key(true.input), _answer_key(true.output)])
    if true.type == "prompt":
        return digest(true.output)
    return digest([true.input, str(true.status) if true.status != "ok" else true.output])


def _request_key(value: JSONValue) -> str:
    messages: list[JSONValue] = [
        [message.role, message.content or "", _calls(message.calls)]
        for message in map(Message, ModelRequest(value).messages)
    ]
    return digest(messages)


def _answer_key(value: JSONValue) -> JSONValue:
    answer = ModelAnswer(value)
    return [answer.text or "", _calls(answer.calls)]


def _calls(calls: Sequence[Mapping[str, JSONValue]]) -> list[JSONValue]:
    return [[call.get("name"), call.get("arguments")] for call in calls]
