"""The local model's answers: calls or sentences, in the style that its instructions require."""

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
    """Writes answers in the style that the instructions require."""

    request: Request
    rules: Instructions
    customer: str = ""
    notes: list[str] = field(default_factory=list)

    def call(self, name: str, **arguments: Any) -> Decision | None:
        """Return a tool call, or None if the tool does not exist."""
        return Decision(calls=(Call(name=name, arguments=arguments),)) if self.request.tool(name) else None

    def say(self, *parts: str, sorry: bool = False, policies: Sequence[str] = ()) -> Decision:
        """Return an answer of these sentences, with length, apology, policies and signature by the rules."""
        spoken_sentences = [sentence for part in parts for sentence in sentences(part)][: self.rules.sentences]
        if spoken_sentences and sorry and self.rules.apologise:
            spoken_sentences[0] = f"I am sorry: {_lower_first(spoken_sentences[0])}"
        if spoken_sentences and self.rules.by_name and self.customer:
            spoken_sentences[0] = f"{self.customer.split()[0]}, {_lower_first(spoken_sentences[0])}"
        if spoken_sentences and self.rules.cite and policies:
            noun = "policy" if len(policies) == 1 else "policies"
            spoken_sentences[-1] = re.sub(r"([.!?])$", rf" ({noun} {', '.join(policies)})\1", spoken_sentences[-1])
        text = " ".join(spoken_sentences)
        return Decision(text=f"{text}\n{self.rules.signature}" if self.rules.signature else text)


def _lower_first(sentence: str) -> str:
    """Lower the first letter, except in a name, an id or "I"."""
    first = sentence.split(maxsplit=1)[0]
    keep = first in {"I", "I'm"} or (not first[1:].islower() and len(first) > 1)
    return sentence if keep else sentence[0].lower() + sentence[1:]
