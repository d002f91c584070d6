"""How the local model reads: instructions, documents, tool results and the customer's words, by plain rules."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final

from cockpit.demo.policy_texts import POLICIES

ORDER: Final = re.compile(r"\b[A-Z]{1,3}-\d{3,6}\b")
_AMOUNT: Final = re.compile(
    r"(?:€\s?(\d{1,9}(?:[.,]\d{1,2})?))|(?:(\d{1,9}(?:[.,]\d{1,2})?)\s?(?:€|eur\b|euros?\b))", re.IGNORECASE
)
_DOCUMENT: Final = re.compile(r"(?:^|(?<=\s))\[(?P<id>[\w./-]+)\][^\S\n]*")
# Also "...not covered.Order totals...": a sentence that was typed right after another one.
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|(?<=[a-z][.!?])(?=[A-Z])")
_ALIKE: Final = 0.5  # the share of words that a wrapped line has in common with its policy
_THE_SAME: Final = 0.8  # and one that begins with a new sentence
_WORD: Final = re.compile(r"[a-z0-9äöüß]+")
_COMMON: Final = frozenset(
    _WORD.findall(
        "a an and are as at be but by can do does for from has have how i if in is it its me my no not of on or our so "
        "that the their them there they this to was we what when which who will with you your"
    )
)


@dataclass(frozen=True, kw_only=True)
class ToolUse:
    """A call of the conversation so far, with its result when it is there."""

    name: str
    arguments: dict[str, Any]
    result: Any = None

    @property
    def failed(self) -> bool:
        return isinstance(self.result, dict) and "error" in self.result


@dataclass(frozen=True, kw_only=True)
class Document:
    id: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Tool:
    name: str
    description: str
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def told(self) -> str:
        """Everything that is written about the tool."""
        return f"{self.description} {json.dumps(self.parameters, ensure_ascii=False)}"


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request in either protocol, in one form. `uses` are those since the last thing the user said."""

    model: str
    system: str
    asked: str
    earlier: tuple[str, ...]
    said_before: str
    documents: tuple[Document, ...]
    uses: tuple[ToolUse, ...]
    all_uses: tuple[ToolUse, ...]
    tools: tuple[Tool, ...]
    wants_json: bool = False

    def tool(self, name: str) -> Tool | None:
        return next((tool for tool in self.tools if tool.name == name), None)

    def used(self, name: str, **arguments: Any) -> tuple[ToolUse, ...]:
        """The calls of a tool since the user last spoke, with these arguments among theirs."""
        wanted = arguments.items()
        return tuple(use for use in self.uses if use.name == name and wanted <= use.arguments.items())

    def result(self, name: str, **arguments: Any) -> Any:
        """The latest result of a tool in the whole conversation, or None."""
        wanted = arguments.items()
        found = [use for use in self.all_uses if use.name == name and wanted <= use.arguments.items()]
        return found[-1].result if found else None


def read(*, model: str, messages: list[dict[str, Any]], tools: list[Tool], wants_json: bool) -> Request:
    """A conversation in the chat form, understood."""
    last = max((at for at, message in enumerate(messages) if message.get("role") == "user"), default=-1)
    system = "\n".join(text_of(m.get("content")) for m in messages if m.get("role") in {"system", "developer"})
    users = [text_of(m.get("content")) for m in messages if m.get("role") == "user"]
    spoken = [text_of(m.get("content")) for m in messages[: max(last, 0)] if m.get("role") == "assistant"]
    system, documents = split_documents(system)
    said = [split_documents(text) for text in users]
    return Request(
        model=model,
        system=system,
        asked=said[-1][0].strip() if said else "",
        earlier=tuple(text.strip() for text, _ in said[:-1]),
        said_before=next((text for text in reversed(spoken) if text), ""),
        documents=(*documents, *(document for _, found in said for document in found)),
        uses=tuple(_uses(messages[last + 1 :])),
        all_uses=tuple(_uses(messages)),
        tools=tuple(tools),
        wants_json=wants_json,
    )


def split_documents(text: str) -> tuple[str, list[Document]]:
    """A text without the documents in it, and the documents; each begins with its id, as in `[returns] Unused...`.

    What somebody typed after a policy belongs to the text, also where it stands on the policy's line.
    """
    marks = list(_DOCUMENT.finditer(text))
    if not marks:
        return text, []
    rest, documents = [text[: marks[0].start()]], []
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    for mark, end in zip(marks, ends, strict=True):
        content, after = _divided(mark["id"], text[mark.end() : end])
        if content:
            documents.append(Document(id=mark["id"], text=content))
        rest.append(after if content else f"{mark[0]}{after}")
    return "\n".join(part for part in rest if part), documents


def _divided(id: str, text: str) -> tuple[str, str]:
    """The document at the start of a text, and what follows it.

    A document is one line. Of a policy of the shop it is known how many sentences it has: more were typed after it,
    fewer go on in the next line where they sound like it.
    """
    line, _, below = text.partition("\n")
    policy = POLICIES.get(id)
    if policy is None:
        return line.strip(), below
    most = len(sentences(policy))
    content = sentences(line)
    if len(content) >= most and not _is_cut(content[most - 1]):
        return " ".join(content[:most]), "\n".join([" ".join(content[most:]), below]).strip("\n")
    return _wrapped(policy, most, line, below)


def _wrapped(policy: str, most: int, line: str, below: str) -> tuple[str, str]:
    """A policy that lost its end, or goes on in the lines below."""
    known = words(policy)
    lines = below.split("\n")
    while lines and lines[0].strip():
        first = next(iter(sentences(lines[0])), "")
        meant = words(first)
        least = _ALIKE if _is_cut(line.rstrip()) else _THE_SAME
        if not meant or first.endswith("?") or len(meant & known) / len(meant) < least:
            break
        line = f"{line} {lines.pop(0)}"
    content = sentences(line)
    return " ".join(content[:most]), "\n".join([" ".join(content[most:]), *lines]).strip("\n")


def _is_cut(sentence: str) -> bool:
    return not sentence.endswith((".", "!", "?"))


def text_of(content: Any) -> str:
    """The text of a message's content, blocks joined."""
    if isinstance(content, list):
        return "\n".join(str(block.get("text", "")) for block in content if isinstance(block, dict))
    return content if isinstance(content, str) else ""


def order_ids(text: str) -> list[str]:
    return list(dict.fromkeys(ORDER.findall(text)))


def amount_in(text: str) -> float | None:
    """The first amount in euros that a text names."""
    found = _AMOUNT.search(text)
    return float((found[1] or found[2]).replace(",", ".")) if found else None


def day_in(text: str) -> date | None:
    """A day written as 2026-11-20; None when it is none."""
    try:
        return date.fromisoformat(text) if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text) else None
    except ValueError:
        return None


def sentences(text: str) -> list[str]:
    """The sentences of a text, with single spaces in them."""
    return [" ".join(sentence.split()) for sentence in _SENTENCE.split(text.strip()) if sentence.strip()]


def words(text: str) -> set[str]:
    """The words that carry meaning, without their commonest endings."""
    return {_stem(word) for word in _WORD.findall(text.lower()) if word not in _COMMON}


def says(text: str, *patterns: str) -> bool:
    """Whether one sentence of the text matches all of the patterns."""
    return any(all(re.search(pattern, line, re.IGNORECASE) for pattern in patterns) for line in sentences(text))


def best_sentences(question: str, texts: Iterable[tuple[str, str]], most: int) -> list[tuple[str, str]]:
    """The sentences that share most words with the question, with the id of the text that they are from."""
    wanted = words(question)
    scored = [
        (len(wanted & words(sentence)) / (1 + len(words(sentence))) ** 0.5, source, sentence)
        for source, text in texts
        for sentence in sentences(text)
    ]
    ranked = sorted(scored, key=lambda entry: -entry[0])
    return [(source, sentence) for score, source, sentence in ranked[:most] if score > 0]


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) > 2:
            return word[: -len(ending)]
    return word


def _uses(messages: list[dict[str, Any]]) -> Iterator[ToolUse]:
    results = {
        message.get("tool_call_id"): parsed(text_of(message.get("content")))
        for message in messages
        if message.get("role") == "tool"
    }
    for message in messages:
        for call in message.get("tool_calls") or []:
            function = call.get("function") or {}
            arguments = parsed(function.get("arguments") or "{}")
            yield ToolUse(
                name=str(function.get("name", "")),
                arguments=arguments if isinstance(arguments, dict) else {},
                result=results.get(call.get("id")),
            )


def parsed(text: str) -> Any:
    """JSON as its value, any other text as it is."""
    try:
        return json.loads(text)
    except ValueError:
        return text
