"""How the local model speaks: calls or sentences, within the manners that its instructions ask for."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from cockpit.demo.local_model.instructions import Instructions
from cockpit.demo.local_model.text_reader import Request, sentences


@dataclass(frozen=True, kw_only=True)
class Call:
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Decision:
    """Tool calls, or a text."""

    calls: tuple[Call, ...] = ()
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Puts sentences in the form that the instructions ask for."""

    request: Request
    rules: Instructions
    customer: str = ""
    notes: list[str] = field(default_factory=list)

    def call(self, name: str, **arguments: Any) -> Decision | None:
        """A call of a tool, if there is such a tool."""
        return Decision(calls=(Call(name=name, arguments=arguments),)) if self.request.tool(name) else None

    def say(self, *parts: str, sorry: bool = False, policies: Sequence[str] = ()) -> Decision:
        """An answer of these sentences: as many as allowed, with an apology, policies and signature as told."""
        spoken = [sentence for part in parts for sentence in sentences(part)][: self.rules.sentences]
        if spoken and sorry and self.rules.apologise:
            spoken[0] = f"I am sorry: {_lower_first(spoken[0])}"
        if spoken and self.rules.by_name and self.customer:
            spoken[0] = f"{self.customer.split()[0]}, {_lower_first(spoken[0])}"
        if spoken and self.rules.cite and policies:
            named = "policy" if len(policies) == 1 else "policies"
            spoken[-1] = re.sub(r"([.!?])$", rf" ({named} {', '.join(policies)})\1", spoken[-1])
        text = " ".join(spoken)
        return Decision(text=f"{text}\n{self.rules.signature}" if self.rules.signature else text)


def _lower_first(sentence: str) -> str:
    """The sentence to go on with: a name, an id or "I" keeps its capital."""
    first = sentence.split(maxsplit=1)[0]
    keep = first in {"I", "I'm"} or (not first[1:].islower() and len(first) > 1)
    return sentence if keep else sentence[0].lower() + sentence[1:]
