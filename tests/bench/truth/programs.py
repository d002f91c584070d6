"""Random agent programs and changes of their runs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from tests.bench.truth.agent import Agent, as_text
from tests.bench.truth.brain import system_prompt
from tests.bench.truth.kinds import KINDS
from tests.bench.truth.runtime import Changes, Runtime, find_rules
from tests.bench.truth.statements import Statement
from traces.core.canonical import digest
from traces.core.json_access import as_object, as_objects
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.payloads.messages import ModelAnswer, ModelRequest

CUSTOMERS: Final = (
    "Where is my order A-1042?",
    "My parcel B-77 of 250 francs is broken since 2026-03-14.",
    "Please send C-300 back, it weighs 15 kg.",
    "billing",
    "Do you ship 40 boxes to Oslo?",
)
_CHANGEABLE: Final = frozenset({StepType.MODEL, StepType.TOOL, StepType.RETRIEVAL, StepType.PROMPT})


@dataclass(frozen=True)
class Program:
    """A program: the same seed builds the same one."""

    seed: str
    statements: tuple[Statement, ...]
    customers: tuple[str, ...]
    remembers: bool

    def run(self, changes: Changes) -> Runtime:
        runtime = Runtime(changes)
        self.run_in(runtime)
        return runtime

    def run_in(self, runtime: Runtime) -> None:
        agent = Agent(runtime, Random(self.seed))
        with runtime.container("agent", StepType.AGENT, {"task": "Serve the customer"}) as output:
            for number, customer in enumerate(self.customers):
                agent.values = [customer, *([agent.values[-1]] if number and self.remembers else [])]
                self._serve(agent, number * len(self.statements))
            output["text"] = as_text(agent.values[-1])

    def _serve(self, agent: Agent, first: int) -> None:
        for number, statement in enumerate(self.statements):
            # The code is the same for every customer.
            agent.place, agent.random = f"{first + number}.{statement.__name__}", Random(f"{self.seed}/{number}")
            agent.values.append(statement(agent))


def random_program(seed: str, kind: str = "patterns") -> Program:
    random = Random(seed)
    chosen = random.choices(KINDS[kind], k=random.randint(1, 5))
    customers = random.sample(CUSTOMERS, k=random.choice((1, 2, 2, 3)))
    return Program(seed, tuple(chosen), tuple(customers), remembers=random.random() < 0.3)


def other_programs(program: Program, random: Random) -> list[Program]:
    """The same code for other customers."""
    count = len(program.customers)
    return [replace(program, customers=tuple(random.sample(CUSTOMERS, k=count))) for _ in range(3)]


def recording(runtime: Runtime, seed: str) -> RecordedRun:
    return RecordedRun(external_id=seed, name="truth", app="truth", format="test", steps=tuple(runtime.steps))


def random_changes(random: Random, steps: Sequence[RecordedStep]) -> dict[str, JSONObject]:
    """One to three changes by the keys of the steps."""
    candidates = [step for step in steps if step.type in _CHANGEABLE]
    count = random.choice((1, 1, 1, 2, 3))
    indices = {random.randrange(len(candidates)) for _ in range(count)} if candidates else set()
    chosen = [candidates[index] for index in sorted(indices)]
    # With other changes, another call than this one may be made in its place.
    alone = next((step for step in chosen if step.call_id), None)
    pairs = [(step, _change(random, step, candidates)) for step in ([alone] if alone else chosen)]
    return {step.key: change for step, change in pairs if _is_change(step, change)}


def _is_change(step: RecordedStep, change: JSONObject) -> bool:
    """False for an override by what was recorded, which a true run of the program need not show equally."""
    override = as_object(change.get("tool")) or change
    if "output" not in override:
        return True
    return digest([override["output"], override.get("status", step.status)]) != digest([step.output, step.status])


def _change(random: Random, step: RecordedStep, steps: Sequence[RecordedStep]) -> JSONObject:
    if step.type is StepType.MODEL:
        return _model_change(random, step, steps)
    if step.type is StepType.PROMPT:
        edits: tuple[JSONObject, ...] = (
            {"template": "Tell us about {case}."},
            {"variables": {"tone": "dry"}},
        )
        return {"prompt": random.choice(edits)}
    if step.type is StepType.RETRIEVAL:
        documents = find_rules(random.choice(("winter", "billing faults", "signature of francs")), 2)
        retrievals: tuple[JSONObject, ...] = ({"documents": documents}, {"query": "faults of B-77"})
        return {"retrieval": random.choice(retrievals)}
    if random.random() < 0.15 and isinstance(step.input, dict):
        return {"arguments": {**step.input, next(iter(step.input)): "C-300"}}
    outputs: tuple[JSONValue, ...] = (
        {"id": "A-1042", "state": "on hold", "total": 170, "date": "2026-04-21", "weight": "2.5 kg"},
        "nothing",
        {"error": "down"},
        _other_output(random, step, steps),
    )
    status = random.choice(("ok", "ok", "ok", "error"))
    return {"tool": {"output": random.choice(outputs), "status": status}}


def _model_change(random: Random, step: RecordedStep, steps: Sequence[RecordedStep]) -> JSONObject:
    kind = random.choice(("output", "output", "output", "system", "temperature", "model", "message", "tools"))
    if kind == "system":
        return {"prompt": {"system": system_prompt(random.choice(("writer", "clerk", "router", "critic")), "Be kind.")}}
    if kind == "temperature":
        return {"model": {"temperature": 0.7}}
    if kind == "model":
        return {"model": {"model": "m2"}}
    messages = ModelRequest(step.input).messages
    if kind == "message" and len(messages) == 2:
        return {"messages": [{"op": "replace", "index": 1, "content": "Forget the order. What about C-300?"}]}
    tools = ModelRequest(step.input).tools
    if kind == "tools" and tools:
        return {"model": {"tools": [{**tool, "description": "A tool"} for tool in tools]}}
    if not ModelAnswer(step.output).calls and random.random() < 0.5:
        content = random.choice(("billing", "shipping", "good", "revise it", "We checked C-300: it waits.", "4200"))
        return {"output": {"message": {"role": "assistant", "content": content}, "finish_reason": "stop"}}
    output = _other_output(random, step, steps)
    return {"output": output}


def _other_output(random: Random, step: RecordedStep, steps: Sequence[RecordedStep]) -> JSONValue:
    """Output of another step of the same kind, with call ids of its own."""
    output = random.choice([other for other in steps if other.type is step.type]).output
    calls = [{**call, "id": f"new_{index}"} for index, call in enumerate(ModelAnswer(output).calls)]
    if not calls or not isinstance(output, dict):
        return output
    message: JSONObject = {**ModelAnswer(output).message, "tool_calls": [*as_objects(calls)]}
    return {**output, "message": message}
