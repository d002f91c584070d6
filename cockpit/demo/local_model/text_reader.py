"""Text rules of the local model for instructions, documents, tool results and the customer's messages."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final

from cockpit.demo.policy_texts import POLICIES
from traces.core.json_access import as_object, as_objects, as_string

ORDER: Final = re.compile(r"\b[A-Z]{1,3}-\d{3,6}\b")
_AMOUNT: Final = re.compile(
    r"(?:€\s?(\d{1,9}(?:[.,]\d{1,2})?))|(?:(\d{1,9}(?:[.,]\d{1,2})?)\s?(?:€|eur\b|euros?\b))", re.IGNORECASE
)
_DOCUMENT: Final = re.compile(r"(?:^|(?<=\s))\[(?P<id>[\w./-]+)\][^\S\n]*")
# Also splits "...not covered.Order totals...": a sentence typed directly after another one.
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|(?<=[a-z][.!?])(?=[A-Z])")
# Minimum share of common words between a policy and a wrapped line of it, in mid-sentence and at a new sentence.
_ALIKE: Final = 0.5
_THE_SAME: Final = 0.8
_WORD: Final = re.compile(r"[a-z0-9äöüß]+")
_COMMON: Final = frozenset(
    _WORD.findall(
        "a an and are as at be but by can do does for from has have how i if in is it its me my no not of on or our so "
        "that the their them there they this to was we what when which who will with you your"
    )
)


@dataclass(frozen=True, kw_only=True)
class ToolUse:
    """A tool call of the conversation, with its result if there is one."""

    name: str
    arguments: dict[str, Any]
    result: Any = None

    @property
    def is_failure(self) -> bool:
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
    def text(self) -> str:
        """Description and parameters of the tool."""
        return f"{self.description} {json.dumps(self.parameters, ensure_ascii=False)}"


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request, independent of the protocol. `uses` are the calls since the last user message."""

    model: str
    system: str
    question: str
    earlier: tuple[str, ...]
    last_answer: str
    documents: tuple[Document, ...]
    uses: tuple[ToolUse, ...]
    all_uses: tuple[ToolUse, ...]
    tools: tuple[Tool, ...]
    wants_json: bool = False

    def tool(self, name: str) -> Tool | None:
        return next((tool for tool in self.tools if tool.name == name), None)

    def calls_of(self, name: str, **arguments: Any) -> tuple[ToolUse, ...]:
        """Return the calls of a tool since the last user message that have these arguments."""
        items = arguments.items()
        return tuple(use for use in self.uses if use.name == name and items <= use.arguments.items())

    def result(self, name: str, **arguments: Any) -> Any:
        """Return the latest result of a tool in the whole conversation, or None."""
        items = arguments.items()
        uses = [use for use in self.all_uses if use.name == name and items <= use.arguments.items()]
        return uses[-1].result if uses else None


def read(*, model: str, messages: list[dict[str, Any]], tools: list[Tool], wants_json: bool) -> Request:
    """Parse a conversation in chat format."""
    last = max((index for index, message in enumerate(messages) if message.get("role") == "user"), default=-1)
    system = "\n".join(text_of(m.get("content")) for m in messages if m.get("role") in {"system", "developer"})
    users = [text_of(m.get("content")) for m in messages if m.get("role") == "user"]
    answers = [text_of(m.get("content")) for m in messages[: max(last, 0)] if m.get("role") == "assistant"]
    system, documents = split_documents(system)
    user_texts = [split_documents(text) for text in users]
    return Request(
        model=model,
        system=system,
        question=user_texts[-1][0].strip() if user_texts else "",
        earlier=tuple(text.strip() for text, _ in user_texts[:-1]),
        last_answer=next((text for text in reversed(answers) if text), ""),
        documents=(*documents, *(document for _, user_documents in user_texts for document in user_documents)),
        uses=tuple(_uses(messages[last + 1 :])),
        all_uses=tuple(_uses(messages)),
        tools=tuple(tools),
        wants_json=wants_json,
    )


def split_documents(text: str) -> tuple[str, list[Document]]:
    """Split a text into its own part and its documents; a document begins with its id, as in `[returns] Unused...`.

    Text typed after a policy belongs to the text, even on the same line.
    """
    marks = list(_DOCUMENT.finditer(text))
    if not marks:
        return text, []
    rest, documents = [text[: marks[0].start()]], []
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    for mark, end in zip(marks, ends, strict=True):
        content, remainder = _split_document(mark["id"], text[mark.end() : end])
        if content:
            documents.append(Document(id=mark["id"], text=content))
        rest.append(remainder if content else f"{mark[0]}{remainder}")
    return "\n".join(part for part in rest if part), documents


def _split_document(id: str, text: str) -> tuple[str, str]:
    """Split a text after the document at its start.

    A document is one line. The number of sentences of a shop policy is known: additional ones were typed after it; if
    some are missing, it may continue in the next line.
    """
    line, _, following_lines = text.partition("\n")
    policy = POLICIES.get(id)
    if policy is None:
        return line.strip(), following_lines
    most = len(sentences(policy))
    content = sentences(line)
    if len(content) >= most and not _is_cut(content[most - 1]):
        return " ".join(content[:most]), "\n".join([" ".join(content[most:]), following_lines]).strip("\n")
    return _join_wrapped(policy, most, line, following_lines)


def _join_wrapped(policy: str, most: int, line: str, following_lines: str) -> tuple[str, str]:
    """Join a policy that was cut or wrapped with its following lines."""
    policy_words = words(policy)
    lines = following_lines.split("\n")
    while lines and lines[0].strip():
        first = next(iter(sentences(lines[0])), "")
        first_words = words(first)
        least = _ALIKE if _is_cut(line.rstrip()) else _THE_SAME
        if not first_words or first.endswith("?") or len(first_words & policy_words) / len(first_words) < least:
            break
        line = f"{line} {lines.pop(0)}"
    content = sentences(line)
    return " ".join(content[:most]), "\n".join([" ".join(content[most:]), *lines]).strip("\n")


def _is_cut(sentence: str) -> bool:
    return not sentence.endswith((".", "!", "?"))


def text_of(content: Any) -> str:
    """Return the text of a message's content, with its blocks joined."""
    if isinstance(content, list):
        return "\n".join(str(block.get("text", "")) for block in as_objects(content))
    return as_string(content)


def order_ids(text: str) -> list[str]:
    return list(dict.fromkeys(ORDER.findall(text)))


def amount_in(text: str) -> float | None:
    """Return the first amount in euros in a text."""
    match = _AMOUNT.search(text)
    return float((match[1] or match[2]).replace(",", ".")) if match else None


def day_in(text: str) -> date | None:
    """Parse a date such as 2026-11-20, or return None."""
    try:
        return date.fromisoformat(text) if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text) else None
    except ValueError:
        return None


def sentences(text: str) -> list[str]:
    """Split a text into sentences, with normalised spaces."""
    return [" ".join(sentence.split()) for sentence in _SENTENCE.split(text.strip()) if sentence.strip()]


def words(text: str) -> set[str]:
    """Return the stems of all words except common ones."""
    return {_stem(word) for word in _WORD.findall(text.lower()) if word not in _COMMON}


def says(text: str, *patterns: str) -> bool:
    """Return True if one sentence of the text matches all patterns."""
    return any(all(re.search(pattern, line, re.IGNORECASE) for pattern in patterns) for line in sentences(text))


def best_sentences(question: str, texts: Iterable[tuple[str, str]], most: int) -> list[tuple[str, str]]:
    """Return the sentences with the most words of the question, with the ids of their texts."""
    question_words = words(question)
    scores = [
        (len(question_words & words(sentence)) / (1 + len(words(sentence))) ** 0.5, source, sentence)
        for source, text in texts
        for sentence in sentences(text)
    ]
    ranking = sorted(scores, key=lambda entry: -entry[0])
    return [(source, sentence) for score, source, sentence in ranking[:most] if score > 0]


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) > 2:
            return word[: -len(ending)]
    return word


def _uses(messages: list[dict[str, Any]]) -> Iterator[ToolUse]:
    results = {
        message.get("tool_call_id"): parse_json(text_of(message.get("content")))
        for message in messages
        if message.get("role") == "tool"
    }
    for message in messages:
        for call in message.get("tool_calls") or []:
            function = call.get("function") or {}
            arguments = parse_json(function.get("arguments") or "{}")
            yield ToolUse(
                name=str(function.get("name", "")),
                arguments=as_object(arguments),
                result=results.get(call.get("id")),
            )


def parse_json(text: str) -> Any:
    """Parse JSON; return any other text unchanged."""
    try:
        return json.loads(text)
    except ValueError:
        return text
