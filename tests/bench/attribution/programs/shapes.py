"""Programs of the benchmark: their code, their settings and the possible edits."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tests.bench.attribution.cases import BenchCase
from tests.bench.attribution.mechanisms.pipelines import Category, Pipeline
from tests.bench.attribution.mechanisms.running import Runtime, result_text
from tests.bench.attribution.mechanisms.settings import system
from tests.bench.attribution.programs.chance import Chance
from tests.bench.attribution.truth import Injection, Truth
from traces.core.json_types import JSONObject, JSONValue

Hunks = tuple[tuple[str, JSONValue], ...]
_DRAWS: Final = 200


@dataclass(frozen=True, kw_only=True)
class Edit:
    """A change by a developer or the environment, in several variants. A `decoy` should not matter."""

    category: Category
    variants: tuple[Hunks, ...]
    decoy: bool = False


@dataclass(frozen=True, kw_only=True)
class Program(Pipeline):
    """An agent with its own model. Programs of one `group` are reported together.

    A model that `rewords` makes the same decision at each call, worded differently. One with `chance` decides
    differently at times. Cases have one to `most` edits; `controls` of every 16 cases, a multiple of four, have no
    cause.
    """

    group: str
    rewords: bool = False
    chance: Chance | None = None
    most: int = 4
    controls: int = 4
    edits: tuple[Edit, ...]

    @property
    def is_sampled(self) -> bool:
        """Return whether the same request can get different answers."""
        return self.rewords or self.chance is not None


def edit(category: Category, path: str, *values: JSONValue, decoy: bool = False) -> Edit:
    """Return an edit of one setting."""
    return Edit(category=category, variants=tuple(((path, value),) for value in values), decoy=decoy)


def wording(node: str, slot: int) -> Edit:
    """Return an edit of a prompt sentence that matches no rule."""
    texts = ("Stay calm and kind.", "Always be polite to people.", "Remember that we value every customer.")
    return edit("prompt", f"prompt.{node}.{slot}", *texts, decoy=True)


def sampling(*nodes: str) -> tuple[Edit, ...]:
    """Return edits of temperatures, which these models ignore."""
    return tuple(edit("model", f"model.{node}.temperature", 0.3, 0.8, decoy=True) for node in nodes)


def draw_case(program: Program, number: int, seed: int) -> BenchCase:
    """Draw case `number` of a program. Sizes alternate; the last of every 16 cases have no cause."""
    rng = random.Random(f"{seed} {program.name} {number}")
    size = min(1 + number % program.most, len(program.edits))
    has_cause = number % 16 < 16 - program.controls
    case = _draw(program, number, size, rng, acting=has_cause)
    for _ in range(_DRAWS):
        if bool(case.truth.sets) == has_cause:
            return case
        case = _draw(program, number, size, rng, acting=has_cause)
    raise AssertionError(f"{program.name} has no case of {size} edits that is {'' if has_cause else 'not '}caused")


def _draw(program: Program, number: int, size: int, rng: random.Random, *, acting: bool) -> BenchCase:
    """Draw a case with different edits. With `acting`, one of them is no decoy."""
    first = rng.choice([option for option in program.edits if not (acting and option.decoy)])
    rest = [option for option in program.edits if option is not first]
    edits = rng.sample([first, *rng.sample(rest, min(size - 1, len(rest)))], min(size, len(rest) + 1))
    injections = [
        Injection(id=f"a{number}", category=change.category, hunks=rng.choice(change.variants), main=0)
        for number, change in enumerate(edits)
    ]
    return BenchCase(
        number=number,
        split="balanced",
        pipeline=program,
        injections=tuple(injections),
        truth=Truth(pipeline=program, acting={injection.id: injection for injection in injections}),
    )


# ---- building blocks of the agents' code


def say(runtime: Runtime, node: str, *texts: str) -> str:
    """Call a node with its system prompt and these user messages."""
    return text_of(runtime.model(node, [system_message(runtime, node), *(user_message(text) for text in texts)]))


def converse(
    runtime: Runtime, node: str, messages: Sequence[JSONValue], tools: Sequence[JSONValue], turns: int = 6
) -> list[JSONValue]:
    """Run an agent loop and return its messages: tool calls, results and the answer."""
    conversation = list(messages)
    for _ in range(turns):
        message = runtime.model(node, [system_message(runtime, node), *conversation], list(tools))
        conversation.append(message)
        calls = message.get("tool_calls")
        if not isinstance(calls, list):
            break
        conversation += [_tool_message(runtime, call) for call in calls]
    return conversation


def _tool_message(runtime: Runtime, call: JSONValue) -> JSONValue:
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
