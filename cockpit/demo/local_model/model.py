"""The local deterministic model, for the demo; not an LLM.

A small program that follows instructions by rules. It reads its system prompt, the documents, the tools' descriptions
and results, and the customer's messages, and always acts in the same way. A changed prompt, tool result or document
therefore changes the answer for a reason that can be read here.

`desk-large-1` reads everything. `desk-small-1` overlooks units and limits in tools and documents, unless the system
prompt states them too.
"""

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from cockpit.demo.local_model import desk_rules, text_reader
from cockpit.demo.local_model.instructions import Instructions, read_instructions
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
    """The model's answer, independent of the protocol."""

    text: str
    calls: tuple[Call, ...] = ()
    tokens_in: int = 0
    tokens_out: int = 0
    finish: str = "stop"


def reply(request: Request, *, prompt_text: str, max_tokens: int | None, stop: list[str]) -> Reply:
    """Answer a request."""
    decision = decide(request)
    if decision.calls:
        calls_text = "".join(f"{call.name}{json.dumps(call.arguments)}" for call in decision.calls)
        return Reply(
            text="",
            calls=decision.calls,
            tokens_in=count(prompt_text),
            tokens_out=count(calls_text),
            finish="tool_calls",
        )
    text, finish = _cut(_form(request, decision.text), max_tokens, stop)
    return Reply(text=text, tokens_in=count(prompt_text), tokens_out=count(text), finish=finish)


def decide(request: Request) -> Decision:
    """Decide the next action: tool calls or an answer."""
    rules = read_instructions(request, careful=request.model == LARGE)
    answer = Answer(request=request, rules=rules)
    for attempt in (_required_tool, desk_rules.decide, _lookup, _from_documents):
        decision = attempt(request, rules, answer)
        if decision is not None:
            return decision
    return answer.say("I work by simple rules, and found nothing about that in what I was given.")


def count(text: str) -> int:
    """Count tokens: words, and each punctuation mark."""
    return len(re.findall(r"\w+|[^\w\s]", text))


def _required_tool(request: Request, rules: Instructions, answer: Answer) -> Decision | None:
    """Call a tool that the instructions require first."""
    for tool in request.tools:
        is_required = says(request.system, rf"\b{re.escape(tool.name)}\b", r"\b(first|always|before)\b")
        arguments = _arguments(tool, request)
        if is_required and arguments is not None and not request.calls_of(tool.name):
            return Decision(calls=(Call(name=tool.name, arguments=arguments),))
    return None


def _lookup(request: Request, rules: Instructions, answer: Answer) -> Decision | None:
    """Call a matching look-up tool whose arguments occur in the conversation."""
    for tool in request.tools:
        arguments = _arguments(tool, request)
        fits = text_reader.words(f"{tool.name.replace('_', ' ')} {tool.description}") & text_reader.words(
            request.question
        )
        if (
            re.match(r"(get|find|search|lookup|list)", tool.name)
            and arguments
            and fits
            and not request.calls_of(tool.name)
        ):
            return Decision(calls=(Call(name=tool.name, arguments=arguments),))
    return None


def _arguments(tool: Tool, request: Request) -> dict[str, Any] | None:
    """Find the required arguments of a tool in the customer's messages; None if one is missing."""
    texts = " ".join([request.question, *reversed(request.earlier)])
    values = {name: _find_value(name, texts) for name in tool.parameters.get("required", [])}
    return None if None in values.values() else values


def _find_value(name: str, text: str) -> str | None:
    for part, pattern in _FILLERS:
        if part in name and (match := re.search(pattern, text)):
            return match[0]
    return None


def _from_documents(request: Request, rules: Instructions, answer: Answer) -> Decision | None:
    """Answer with the best matching sentences of documents and tool results; the small model finds one."""
    texts = [(document.id, document.text) for document in request.documents]
    results = [
        (use.name, use.result if isinstance(use.result, str) else json.dumps(use.result)) for use in request.uses
    ]
    best = best_sentences(request.question, [*texts, *results], 1 if request.model == SMALL else 2)
    if not best:
        return None
    sources = [source for source, _ in best if source in {document.id for document in request.documents}]
    return answer.say(*[sentence for _, sentence in best], policies=list(dict.fromkeys(sources)))


def _form(request: Request, text: str) -> str:
    return json.dumps({"answer": text}, ensure_ascii=False) if request.wants_json else text


def _cut(text: str, max_tokens: int | None, stop: list[str]) -> tuple[str, str]:
    """Truncate the text at the first stop sequence and at the token limit."""
    ends = [position for mark in stop if mark and (position := text.find(mark)) >= 0]
    text = text[: min(ends)] if ends else text
    if max_tokens is None or count(text) <= max_tokens:
        return text, "stop"
    marks = list(re.finditer(r"\w+|[^\w\s]", text))
    return text[: marks[max_tokens - 1].end()] if max_tokens > 0 else "", "length"
