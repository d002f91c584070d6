"""A pipeline: its code, its settings, and the menu from which changes are drawn."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from tests.bench.attribution.mechanisms.running import Model, Program, noiseless_model
from traces.core.json_types import JSONValue

Category = Literal["prompt", "retrieval", "tool", "model", "upstream"]


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A settings entry and the values that a change may give it. An `idle` choice never matters."""

    category: Category
    path: str
    values: tuple[JSONValue, ...]
    idle: bool = False


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    name: str
    program: Program
    settings: Mapping[str, JSONValue]
    menu: tuple[Choice, ...]
    # The node that gives the answer.
    final: str
    model: Model = noiseless_model
    # By settings.
    answers: dict[bytes, str] = field(default_factory=dict, init=False, compare=False, repr=False)


# ---- sentences that several prompts share, and choices for a menu

POLITE: Final = (
    "Stay friendly.",
    "Stay friendly at all times.",
    "stay  friendly.",
    "Be kind and patient.",
    "The customer comes first.",
)
HOUSE: Final = (
    "We are a small shop.",
    "We are a small shop in Bern.",
    "Our shop was founded in 1987.",
    "Our customers are mostly families.",
    "WE ARE A SMALL SHOP.",
)
DATE: Final = ("Today is a working day.", "Today is a nice working day.", "It is early in the morning.")
MANNERS: Final = (
    "",
    "Begin with a greeting.",
    "Sign as Team North.",
    "Sign as the office.",
    "Answer in German.",
    "Answer in at most 5 words.",
    "Answer in at most 7 words.",
)


def prompt_choice(node: str, slot: int, *values: str, idle: bool = False) -> Choice:
    return Choice(category="prompt", path=f"prompt.{node}.{slot}", values=values, idle=idle)


def wording_choices(node: str, *slots: int) -> tuple[Choice, ...]:
    return tuple(
        prompt_choice(node, slot, *texts, idle=True) for slot, texts in zip(slots, (POLITE, HOUSE, DATE), strict=False)
    )


def row_choice(tool: str, path: str, *values: JSONValue, idle: bool = False) -> Choice:
    return Choice(category="tool", path=f"row.{tool}.{path}", values=values, idle=idle)


def document_choice(path: str, *values: JSONValue, idle: bool = False) -> Choice:
    return Choice(category="retrieval", path=f"doc.{path}", values=values, idle=idle)


def model_choices(*nodes: str) -> tuple[Choice, ...]:
    return tuple(
        choice
        for node in nodes
        for choice in (
            Choice(category="model", path=f"model.{node}.name", values=("m2", "m3")),
            Choice(category="model", path=f"model.{node}.temperature", values=(0.2, 0.7), idle=True),
            Choice(category="model", path=f"model.{node}.max_tokens", values=(6, 9, 200)),
        )
    )


def _user_choice(*texts: str) -> Choice:
    return Choice(category="upstream", path="user.2", values=texts, idle=True)


USERS: Final = _user_choice("Thanks!", "Thank you in advance.", "I wrote to you last week already.")
