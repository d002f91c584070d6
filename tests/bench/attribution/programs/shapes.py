"""A program of the benchmark: its code, its settings, and the edits that may be made to them."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tests.bench.attribution.cases import BenchCase
from tests.bench.attribution.mechanisms.pipelines import Category, Pipeline
from tests.bench.attribution.mechanisms.running import Runtime, result_text
from tests.bench.attribution.mechanisms.settings import system
from tests.bench.attribution.truth import Injection, Truth
from traces.core.json_types import JSONObject, JSONValue

Hunks = tuple[tuple[str, JSONValue], ...]
_DRAWS: Final = 200


@dataclass(frozen=True, kw_only=True)
class Edit:
    """A change that a developer or the world makes, in one of several variants; a `decoy` should not matter."""

    category: Category
    variants: tuple[Hunks, ...]
    decoy: bool = False


@dataclass(frozen=True, kw_only=True)
class Program(Pipeline):
    """An agent with its own model. `group` names the programs that are reported together.

    A model that `rewords` decides the same each time, in other words. Cases have one to `most` edits, in turns.
    """

    group: str
    rewords: bool = False
    most: int = 4
    edits: tuple[Edit, ...]


def edit(category: Category, path: str, *values: JSONValue, decoy: bool = False) -> Edit:
    """An edit of one setting."""
    return Edit(category=category, variants=tuple(((path, value),) for value in values), decoy=decoy)


def wording(node: str, slot: int) -> Edit:
    """A sentence of a prompt that no rule of any model reads."""
    texts = ("Stay calm and kind.", "Always be polite to people.", "Remember that we value every customer.")
    return edit("prompt", f"prompt.{node}.{slot}", *texts, decoy=True)


def sampling(*nodes: str) -> tuple[Edit, ...]:
    """Temperatures, which these models ignore."""
    return tuple(edit("model", f"model.{node}.temperature", 0.3, 0.8, decoy=True) for node in nodes)


def draw_case(program: Program, number: int, seed: int) -> BenchCase:
    """Case `number` of a program: its sizes take turns; every fourth case has no cause."""
    rng = random.Random(f"{seed} {program.name} {number}")
    size = min(1 + number % program.most, len(program.edits))
    caused = number // 4 % 4 != 3
    case = _drawn(program, number, size, rng, acting=caused)
    for _ in range(_DRAWS):
        if bool(case.truth.sets) == caused:
            return case
        case = _drawn(program, number, size, rng, acting=caused)
    raise AssertionError(f"{program.name} has no case of {size} edits that is {'' if caused else 'not '}caused")


def _drawn(program: Program, number: int, size: int, rng: random.Random, *, acting: bool) -> BenchCase:
    """Edits of different settings; a case that is to have a cause begins with one that may be it."""
    first = rng.choice([one for one in program.edits if not (acting and one.decoy)])
    others = [one for one in program.edits if one is not first]
    chosen = rng.sample([first, *rng.sample(others, min(size - 1, len(others)))], min(size, len(others) + 1))
    injections = [
        Injection(id=f"a{at}", category=one.category, hunks=rng.choice(one.variants), main=0)
        for at, one in enumerate(chosen)
    ]
    return BenchCase(
        number=number,
        split="balanced",
        pipeline=program,
        injections=tuple(injections),
        truth=Truth(pipeline=program, acting={each.id: each for each in injections}),
    )


# ---- what the code of agents is written with


def say(runtime: Runtime, node: str, *texts: str) -> str:
    """One call of a node: its system prompt, then user messages."""
    return text_of(runtime.model(node, [system_message(runtime, node), *(user_message(text) for text in texts)]))


def converse(
    runtime: Runtime, node: str, messages: Sequence[JSONValue], tools: Sequence[JSONValue], turns: int = 6
) -> list[JSONValue]:
    """The messages after the model has called the tools that it wanted and given its answer."""
    talk = list(messages)
    for _ in range(turns):
        message = runtime.model(node, [system_message(runtime, node), *talk], list(tools))
        talk.append(message)
        calls = message.get("tool_calls")
        if not isinstance(calls, list):
            break
        talk += [_called(runtime, call) for call in calls]
    return talk


def _called(runtime: Runtime, call: JSONValue) -> JSONValue:
    assert isinstance(call, dict)
    arguments = call["arguments"]
    assert isinstance(arguments, dict)
    result = runtime.tool(str(call["name"]), arguments, str(call["id"]))
    return {"role": "tool", "content": result_text(result), "tool_call_id": call["id"]}


def system_message(runtime: Runtime, node: str) -> JSONObject:
    return {"role": "system", "content": system(runtime.settings, node)}


def user_message(text: str) -> JSONObject:
    return {"role": "user", "content": text}


def text_of(message: JSONValue) -> str:
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, str) else ""
