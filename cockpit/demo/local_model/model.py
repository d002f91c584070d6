"""The local deterministic model, for the demo; not an LLM.

A small program that follows instructions by rules. It reads its system prompt, the documents, the tools'
descriptions and results and the customer's words, and does what they say, always the same. So a changed prompt,
tool answer or document changes the answer for a reason that can be read here.

`desk-large-1` reads everything. `desk-small-1` is sloppier: what the tools and documents say about units and
limits escapes it, unless the system prompt says so too.
"""

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from cockpit.demo.local_model import desk_rules, text_reader
from cockpit.demo.local_model.instructions import Instructions, understood
from cockpit.demo.local_model.speech import Answer, Call, Decision
from cockpit.demo.local_model.text_reader import Request, Tool, best_sentences, says

DESCRIPTION: Final = "local deterministic model, for the demo; not an LLM"
SMALL: Final = "desk-small-1"
LARGE: Final = "desk-large-1"
MODELS: Final = (SMALL, LARGE)
_FILLERS: Final[tuple[tuple[str, str], ...]] = (
    ("email", r"[\w.+-]+@[\w-]+\.[\w.]+"),
    ("order", r"#?[A-Z]{1,3}-?\d{3,}"),
    ("zip", r"\b\d{5}\b"),
)


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What the model answers with, before it is put in a protocol's form."""

    text: str
    calls: tuple[Call, ...] = ()
    tokens_in: int = 0
    tokens_out: int = 0
    finish: str = "stop"


def reply(request: Request, *, prompt_text: str, max_tokens: int | None, stop: list[str]) -> Reply:
    """The model's answer to a request."""
    decision = decide(request)
    if decision.calls:
        told = "".join(f"{call.name}{json.dumps(call.arguments)}" for call in decision.calls)
        return Reply(
            text="", calls=decision.calls, tokens_in=count(prompt_text), tokens_out=count(told), finish="tool_calls"
        )
    text, finish = _cut(_form(request, decision.text), max_tokens, stop)
    return Reply(text=text, tokens_in=count(prompt_text), tokens_out=count(text), finish=finish)


def decide(request: Request) -> Decision:
    """What to do next: call tools, or answer."""
    rules = understood(request, careful=request.model == LARGE)
    answer = Answer(request=request, rules=rules)
    for attempt in (_told_first, desk_rules.decide, _lookup, _from_documents):
        decision = attempt(request, rules, answer)
        if decision is not None:
            return decision
    return answer.say("I work by simple rules, and found nothing about that in what I was given.")


def count(text: str) -> int:
    """Tokens as this model counts them: words, and every other mark on its own."""
    return len(re.findall(r"\w+|[^\w\s]", text))


def _told_first(request: Request, rules: Instructions, answer: Answer) -> Decision | None:
    """A tool that the instructions name to be called first."""
    for tool in request.tools:
        told = says(request.system, rf"\b{re.escape(tool.name)}\b", r"\b(first|always|before)\b")
        arguments = _filled(tool, request)
        if told and arguments is not None and not request.used(tool.name):
            return Decision(calls=(Call(name=tool.name, arguments=arguments),))
    return None


def _lookup(request: Request, rules: Instructions, answer: Answer) -> Decision | None:
    """A tool that finds something out and whose arguments the conversation has, where its words fit."""
    for tool in request.tools:
        arguments = _filled(tool, request)
        fits = text_reader.words(f"{tool.name.replace('_', ' ')} {tool.description}") & text_reader.words(request.asked)
        if re.match(r"(get|find|search|lookup|list)", tool.name) and arguments and fits and not request.used(tool.name):
            return Decision(calls=(Call(name=tool.name, arguments=arguments),))
    return None


def _filled(tool: Tool, request: Request) -> dict[str, Any] | None:
    """The required arguments of a tool as the customer's words give them; None when one is missing."""
    heard = " ".join([request.asked, *reversed(request.earlier)])
    found = {name: _heard(name, heard) for name in tool.parameters.get("required", [])}
    return None if None in found.values() else found


def _heard(name: str, text: str) -> str | None:
    for part, pattern in _FILLERS:
        if part in name and (match := re.search(pattern, text)):
            return match[0]
    return None


def _from_documents(request: Request, rules: Instructions, answer: Answer) -> Decision | None:
    """The sentences of documents and tool results that fit the question best; the small model finds one."""
    texts = [(document.id, document.text) for document in request.documents]
    results = [
        (use.name, use.result if isinstance(use.result, str) else json.dumps(use.result)) for use in request.uses
    ]
    found = best_sentences(request.asked, [*texts, *results], 1 if request.model == SMALL else 2)
    if not found:
        return None
    cited = [source for source, _ in found if source in {document.id for document in request.documents}]
    return answer.say(*[sentence for _, sentence in found], policies=list(dict.fromkeys(cited)))


def _form(request: Request, text: str) -> str:
    return json.dumps({"answer": text}, ensure_ascii=False) if request.wants_json else text


def _cut(text: str, max_tokens: int | None, stop: list[str]) -> tuple[str, str]:
    """The text up to the first stop sequence and the token limit."""
    ends = [at for mark in stop if mark and (at := text.find(mark)) >= 0]
    text = text[: min(ends)] if ends else text
    if max_tokens is None or count(text) <= max_tokens:
        return text, "stop"
    marks = list(re.finditer(r"\w+|[^\w\s]", text))
    return text[: marks[max_tokens - 1].end()] if max_tokens > 0 else "", "length"
