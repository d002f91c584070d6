"""The change of a fork in a few words, from its overrides and what was recorded in their places. Pure.

Examples: `+ “Order totals are in cents”`, `gpt-4.1 → gpt-5-mini`, `get_order total: 4200 → 42`,
`document “Refund policy” replaced`. Of several changes, the first is described and all are counted.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from diffing.sentences.text import format_value, pointer_name
from diffing.sequences.json_diff import Change, parse_embedded_json, value_changes
from diffing.sequences.text_diff import shorten
from replay.overrides.policy import Policy
from replay.overrides.profile import (
    MessageEdit,
    ModelOverride,
    Override,
    OverrideProfile,
    PromptOverride,
    RetrievalOverride,
    ToolOverride,
)
from replay.overrides.request_edits import canonical_name
from replay.overrides.text_changes import QUOTE, Redact, quote, text_changes
from traces.core.json_access import as_objects, as_string, member
from traces.core.json_types import JSONObject, JSONValue
from traces.core.schema import ForkChange
from traces.core.vocabulary import StepStatus, StepType
from traces.payloads.messages import Message, ModelAnswer, ModelRequest

_VALUE: Final = 40
# With more changed values, a call's arguments or answer count as replaced.
_MAX_VALUES: Final = 3
# More entries are counted, but not described.
_MAX_ENTRIES: Final = 50
_ENDS: Final = {
    StepStatus.ERROR: "fails",
    StepStatus.TIMEOUT: "times out",
    StepStatus.PARTIAL: "answers partly",
    StepStatus.DENIED: "is denied",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedCall:
    """The first step that an entry changes, as it was recorded; payloads are None where they cannot be read."""

    name: str
    model: str
    provider: str
    input: JSONValue
    output: JSONValue


class _Phrase(NamedTuple):
    text: str
    target: str = ""


# Returns the step that an entry changes first; None if it is not known.
FindRecordedCall = Callable[[Override], RecordedCall | None]


def no_recorded_call(_: Override) -> None:
    """Describe changes without what was recorded."""
    return


def fork_change(profile: OverrideProfile, policy: Policy, find_call: FindRecordedCall, redact: Redact) -> ForkChange:
    """Describe what a fork changes; `redact` is applied to the texts that it quotes."""
    entries = profile.overrides
    phrases = [
        phrase
        for entry in entries[:_MAX_ENTRIES]
        for phrase in _EntryChanges(entry, find_call(entry), redact).phrases()
    ]
    count = len(phrases) + len(entries[_MAX_ENTRIES:])
    if phrases:
        # As PostgreSQL stores it: equal on both databases.
        text, target = (part.replace("\x00", "\ufffd") for part in phrases[0])
        return ForkChange(text=text, target=target, count=count)
    text = "Run again live" if policy.order == "reexecute" else "Unchanged"
    return ForkChange(text=text, target="", count=count)


class _EntryChanges:
    """The changes of one entry of a profile."""

    def __init__(self, entry: Override, call: RecordedCall | None, redact: Redact) -> None:
        self._entry = entry
        self._call = call
        self._redact = redact
        self._input = call.input if call else None
        self._output = call.output if call else None

    def phrases(self) -> Iterator[_Phrase]:
        entry = self._entry
        if entry.prompt is not None:
            yield from self._prompt(entry.prompt)
        if entry.model is not None:
            yield from self._model(entry.model)
        for edit in entry.messages or ():
            yield from self._message(edit)
        if entry.retrieval is not None:
            yield from self._retrieval(entry.retrieval)
        if entry.arguments is not None:
            yield from self._values("arguments", self._input, entry.arguments)
        if entry.tool is not None:
            yield from self._tool(entry.tool)
        elif "output" in entry.sets:
            yield from self._answer(entry.output)

    def _prompt(self, prompt: PromptOverride) -> Iterator[_Phrase]:
        if prompt.system is not None:
            yield from self._texts("system prompt", _system_prompt(self._input), prompt.system)
        if prompt.template is not None:
            yield from self._texts("prompt template", as_string(member(self._input, "template")), prompt.template)
        for name in ("template_id", "version", "variables"):
            if (value := getattr(prompt, name)) is not None:
                yield from self._settings("prompt", name, member(self._input, name), value)

    def _model(self, model: ModelOverride) -> Iterator[_Phrase]:
        settings = model.model_dump(mode="json", exclude_unset=True)
        request = ModelRequest(self._input)
        if model.model is not None or model.provider is not None:
            yield from self._model_name(model)
        for name, value in settings.items():
            if name == "tools" and value is not None:
                yield from _tool_changes(request.tools if self._call else None, as_objects(value))
            elif name == "response_format" and value is not None:
                yield _Phrase("response format changed")
            elif name not in {"model", "provider", "parameters", "unset"} and value is not None:
                yield from self._settings("model", name, _parameter(request, name), value)
        for name, value in (model.parameters or {}).items():
            yield from self._settings("model", name, _parameter(request, name), value)
        for name in model.unset or ():
            yield _Phrase(f"no {name.replace('_', ' ')}", "model")

    def _model_name(self, model: ModelOverride) -> Iterator[_Phrase]:
        call = self._call
        if model.model is not None and not (call and call.model == model.model):
            yield _Phrase(_transition(call.model if call else "", model.model), "model")
        elif model.provider is not None and not (call and call.provider == model.provider):
            yield _Phrase(_transition(call.provider if call else "", model.provider), "provider")

    def _message(self, edit: MessageEdit) -> Iterator[_Phrase]:
        messages = ModelRequest(self._input).messages
        original = Message(messages[edit.index]) if edit.index < len(messages) else Message(None)
        target = f"{original.role} message".strip()
        for passage in edit.passages or ():
            yield from self._texts(target, passage.before, passage.after)
        if edit.op == "delete":
            text = quote(original.text, self._redact) if original.text else f"message {edit.index + 1}"
            yield _Phrase(f"− {text}", target)
        elif edit.passages is None:
            content = edit.message["content"] if edit.message and "content" in edit.message else edit.content
            text, role = Message({"content": content}).text, edit.role or as_string(member(edit.message, "role"))
            if edit.op == "insert":
                yield _Phrase(f"+ {quote(text, self._redact)}", f"{role or 'user'} message")
            else:
                yield from self._texts(target, original.text, text)

    def _retrieval(self, retrieval: RetrievalOverride) -> Iterator[_Phrase]:
        if retrieval.query is not None:
            yield from self._texts("search", as_string(member(self._input, "query")), retrieval.query)
        if retrieval.documents is not None:
            originals = as_objects(member(self._output, "documents")) if self._call else None
            yield from _document_changes(originals, retrieval.documents, self._redact)
        for name in ("top_k", "filters", "embedding_profile"):
            if name in retrieval.model_fields_set:
                yield from self._settings("search", name, member(self._input, name), getattr(retrieval, name))

    def _tool(self, tool: ToolOverride) -> Iterator[_Phrase]:
        if end := _ENDS.get(StepStatus(tool.status)):
            yield _Phrase(f"{self._name} {end}", "tool answer")
        else:
            yield from self._values("tool answer", self._output, tool.output)

    def _answer(self, output: JSONValue) -> Iterator[_Phrase]:
        before, after = (ModelAnswer(value).text or as_string(value) for value in (self._output, output))
        if before and after:
            yield from self._texts(f"answer of {self._name}", before, after)
        else:
            yield from self._values("tool answer" if self._is_tool else "answer", self._output, output)

    def _texts(self, target: str, before: str, after: str) -> Iterator[_Phrase]:
        if self._call is None and after:
            yield _Phrase(quote(after, self._redact), target)
            return
        yield from (_Phrase(text, target) for text in text_changes(before, after, self._redact))

    def _settings(self, target: str, name: str, before: JSONValue, after: JSONValue) -> Iterator[_Phrase]:
        if before != after:
            label = name.replace("_", " ")
            yield _Phrase(f"{label} {_transition(self._value_text(before), self._value_text(after) or 'none')}", target)

    def _values(self, target: str, before: JSONValue, after: JSONValue) -> Iterator[_Phrase]:
        """Describe the new arguments or the new answer of a call: a single changed value, or that it is replaced."""
        before, after = parse_embedded_json(before), parse_embedded_json(after)
        changes = value_changes(before, after)
        if self._call is None or len(changes) > _MAX_VALUES or not all(map(_is_scalar, changes)):
            yield _Phrase(f"{self._name} replaced", target)
            return
        for change in changes:
            name = f"{self._name} {pointer_name(change.path)}"
            yield _Phrase(f"{name}: {self._value_text(change.base)} → {self._value_text(change.candidate)}", target)

    @property
    def _name(self) -> str:
        match = self._entry.match
        name = self._call.name if self._call else match.name
        return name or (f"step {match.step}" if match.step is not None else str(match.type or "call"))

    @property
    def _is_tool(self) -> bool:
        return self._entry.match.type is StepType.TOOL

    def _value_text(self, value: JSONValue) -> str:
        """Return a value as it is shown in a phrase; empty for null."""
        if isinstance(value, dict | list):
            return f"{len(value)} values" if len(value) != 1 else "1 value"
        text = value if isinstance(value, str) else format_value(value)
        return "" if value is None else shorten(self._redact(text), _VALUE)


def _is_scalar(change: Change) -> bool:
    """True if one value inside an object or a list became another."""
    values = (change.base, change.candidate)
    return change.op == "changed" and bool(change.path) and not any(isinstance(value, dict | list) for value in values)


def _transition(before: str, after: str) -> str:
    return f"{before} → {after}" if before else after


def _system_prompt(input: JSONValue) -> str:
    messages = (Message(message) for message in ModelRequest(input).messages)
    return next((message.text for message in messages if message.role in {"system", "developer"}), "")


def _parameter(request: ModelRequest, name: str) -> JSONValue:
    """Return a recorded parameter in any of its spellings."""
    parameters = {canonical_name(spelling): value for spelling, value in request.parameters.items()}
    return parameters.get(canonical_name(name))


def _tool_changes(originals: Sequence[JSONObject] | None, tools: Sequence[JSONObject]) -> Iterator[_Phrase]:
    """Describe the tools that a model is offered: one added, removed or changed tool, or their number."""
    count = _Phrase(f"{len(tools)} tool{'' if len(tools) == 1 else 's'} offered")
    if originals is None:
        yield count
        return
    before, after = ({str(tool.get("name")): tool for tool in offer} for offer in (originals, tools))
    phrases = [_Phrase(f"+ {name}", "tools offered") for name in after.keys() - before.keys()]
    phrases += [_Phrase(f"− {name}", "tools offered") for name in before.keys() - after.keys()]
    common = before.keys() & after.keys()
    phrases += [_Phrase(f"{name} changed", "tools offered") for name in common if before[name] != after[name]]
    yield from sorted(phrases, key=lambda phrase: phrase.text) if phrases else [count]


def _document_changes(
    originals: Sequence[JSONObject] | None, documents: Sequence[JSONObject], redact: Redact
) -> Iterator[_Phrase]:
    """Describe a new result of a search: documents by their id, else by their place."""
    if originals is None:
        yield _Phrase(f"{len(documents)} document{'' if len(documents) == 1 else 's'}", "search result")
        return
    before, after = ({_identity(item, at): item for at, item in enumerate(items)} for items in (originals, documents))
    if after.keys() == before.keys():
        texts = [f"document {_title(item, redact)} replaced" for key, item in after.items() if before[key] != item]
        texts = texts or (["documents reordered"] if list(before) != list(after) else [])
    else:
        texts = [f"+ document {_title(item, redact)}" for key, item in after.items() if key not in before]
        texts += [f"− document {_title(item, redact)}" for key, item in before.items() if key not in after]
    yield from (_Phrase(text, "search result") for text in texts)


def _identity(document: JSONObject, place: int) -> str:
    return as_string(document.get("id")) or str(place)


def _title(document: JSONObject, redact: Redact) -> str:
    """Return a document's title or id, else its first words, in quotes."""
    names = (member(document, "metadata", "title"), document.get("title"), document.get("id"))
    title = next((name for name in names if isinstance(name, str) and name), "")
    return quote(title or Message(document).text, redact, QUOTE // 2)
