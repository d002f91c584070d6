"""Changes as short phrases, which name the thing and quote the words that differ. Pure."""

from collections.abc import Mapping, Sequence
from typing import Final

from diffing.compare.comparison import Pair
from diffing.compare.placeholders import idle_side
from diffing.content.facet import WINDOW, Facet
from diffing.content.payload_texts import call_text
from diffing.sentences.text import VALUE, as_text, capitalize, format_value, pointer_name
from diffing.sequences.json_diff import Change, value_changes
from diffing.sequences.ranked_lists import RewrittenDocument, rank_documents, rewritten_documents
from diffing.sequences.ranked_lists import compare as compare_ranks
from diffing.sequences.text_diff import (
    Span,
    deleted_text,
    difference_excerpts,
    inserted_text,
    normalise,
    shorten,
    word_diff,
)
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepStatus, StepType

QUOTE: Final = 90  # characters quoted of a text in a sentence
_TOLD: Final = 2  # values of one kind told with what they say
_LISTED: Final = 8  # names of fields
_READ: Final = 40  # differences looked at for the most telling one
_SAME: Final = 0.5  # share of a text that an edit keeps; one that keeps less is another text
_FEW: Final = 160  # characters of a change that is quoted rather than named
_TELLING: Final = (
    "status",
    "state",
    "outcome",
    "decision",
    "result",
    "success",
    "accepted",
    "approved",
    "error",
    "reason",
)
_ORDER: Final = {name: place for place, name in enumerate(_TELLING)}


METHODS: Final[Mapping[str, str]] = {  # how the likeness of two texts was measured
    "identical": "the texts are equal",
    "embeddings": "by meaning, with sentence embeddings",
    "difflib": "by equal characters",
    "jaccard": "by shared words",
    "empty": "one of the texts is empty",
}
SUSPICION: Final = "Suspected, not proved: "  # before a cause that only observation names
OPEN_CHANGES: Final = " Not ruled out: "  # after it, before what else differs
NO_DATA_FLOW: Final = " The recordings do not show how one led to the other."


def facet_phrase(facet: Facet) -> str:
    """The change as an action: “Adding “…” to the system prompt”."""
    if facet.kind in _TEXTS:
        return edit_phrase(as_text(facet.base), as_text(facet.candidate), _TEXTS[facet.kind])
    if facet.kind == WINDOW:
        return _window(facet)
    if facet.kind == "message list":
        return _message_edit(facet)
    if facet.kind == "tool schemas":
        return _schemas(facet)
    if facet.kind in {"model", "parameters"}:
        return _settings(facet, "the ")
    if facet.kind == "template version and variables":
        return _settings(facet, "the prompt's ")
    if facet.kind == "settings":
        return _settings(facet, f"{facet.pair.step.display_name}'s ")
    if facet.kind == "documents":
        return _documents(facet)
    return _answer(facet)


def resampling_phrase(pair: Pair) -> str:
    """Another answer of a model, which no change explains."""
    return f"Another answer of the model to the same request at {step_name(pair)}"


def unpaired_phrase(pair: Pair) -> str:
    """A step that only one run has."""
    side = "base" if pair.base else "candidate"
    number = pair.step.sequence_no
    if pair.step.type == StepType.TOOL:
        return f"{'Not calling' if pair.base else 'Calling'} {pair.step.display_name} at step {number} of the {side}"
    summary = f" (“{shorten(pair.step.summary, 60)}”)" if pair.step.summary else ""
    return f"{'The missing' if pair.base else 'An additional'} {pair.step.type} step {number} of the {side}{summary}"


def unpaired_note(pair: Pair) -> str:
    """A step that only one run has, as a note beside it."""
    return f"only in the {'base' if pair.base else 'candidate'}: {pair.step.summary}".rstrip(": ")


def join_effect(cause: str, effect: str) -> str:
    """What changed at the first step of a path, and what the step made of it."""
    if effect in {"", cause}:
        return cause
    return f"{cause}; so it {effect}" if effect.startswith("asks") else f"{cause}; {effect}"


def edit_phrase(base: str, candidate: str, where: str) -> str:
    """An edit of a text, by the words that went and came."""
    spans = word_diff(normalise(base), normalise(candidate))
    gone, come = deleted_text(spans), inserted_text(spans)
    if not base.strip():
        return f"Giving {where} “{shorten(candidate, QUOTE)}”" if candidate.strip() else f"Changing {where}"
    if not candidate.strip():
        return f"Removing {where}"
    if come and not gone:
        return f"Adding “{shorten(come, QUOTE)}” to {where}"
    if gone and not come:
        return f"Removing “{shorten(gone, QUOTE)}” from {where}"
    if len(gone) + len(come) <= _FEW or _kept(spans) > _SAME:
        return f"Changing “{shorten(gone, QUOTE)}” to “{shorten(come, QUOTE)}” in {where}"
    return f"Rewriting {where} (now “{shorten(candidate, QUOTE)}”)"


def facet_note(facet: Facet) -> str:
    """The change as a note beside a step: “amount 4200 → 42”."""
    if facet.part == "output" and (side := idle_side(facet.pair.base, facet.pair.candidate)):
        return f"not run in the {side}, where a placeholder stands in for its answer"
    if facet.form == "ranks":
        return _rank_note(facet)
    if facet.kind == "tool calls":
        return _calls_note(facet)
    if facet.form == "messages":
        return "; ".join(_message_note(item.op, item.role, item.base, item.candidate) for item in facet.messages[:2])
    if facet.form == "text":
        return text_note(as_text(facet.base), as_text(facet.candidate))
    changes = value_changes(facet.base, facet.candidate, limit=_READ)
    return "; ".join(value_note(change) for change in _telling_first(changes)[:2])


def text_note(base: str, candidate: str) -> str:
    """Which words went and came."""
    spans = word_diff(normalise(base), normalise(candidate))
    gone, come = deleted_text(spans), inserted_text(spans)
    if gone and come and _kept(spans) < _SAME:  # scraps of two sentences say less than both
        gone, come = base, candidate
    if gone and come:
        before, after = difference_excerpts(gone, come, QUOTE)
        return f"“{before}” → “{after}”"
    return f"+ “{shorten(come, QUOTE)}”" if come else f"− “{shorten(gone, QUOTE)}”"


def value_note(change: Change) -> str:
    """One difference of two values, by its name."""
    name = pointer_name(change.path)
    if change.op == "added":
        return f"{name} {format_value(change.candidate)} added".strip()
    if change.op == "removed":
        return f"{name} {format_value(change.base)} removed".strip()
    if isinstance(change.base, str) and isinstance(change.candidate, str):
        base, candidate = map(format_value, difference_excerpts(change.base, change.candidate, VALUE))
    else:
        base, candidate = format_value(change.base), format_value(change.candidate)
    return f"{name} {base} → {candidate}".strip()


def step_name(pair: Pair) -> str:
    """A step in words: its number on the side that has it, its type and what it is called."""
    step = pair.step
    named = f" {step.display_name}" if step.display_name not in {step.type, ""} else ""
    return f"step {step.sequence_no} ({step.type}{named})"


_TEXTS: Final = {
    "system prompt": "the system prompt",
    "template": "the prompt template",
    "rendered prompt": "the rendered prompt",
    "query": "the query",
}


def _kept(spans: Sequence[Span]) -> float:
    total = sum(len(span.text) for span in spans)
    return sum(len(span.text) for span in spans if span.op == "equal") / total if total else 1.0


def _message_edit(facet: Facet) -> str:
    if not facet.messages:
        return "Changing the messages"
    item = facet.messages[0]
    where = "the user's message" if item.role == "user" else f"a message of the {item.role or 'history'}"
    if item.op == "added":
        new = "a user's message" if item.role == "user" else where
        return f"Adding {new} (“{shorten(item.candidate, QUOTE)}”)"
    if item.op == "removed":
        return f"Leaving out {where} (“{shorten(item.base, QUOTE)}”)"
    return edit_phrase(item.base, item.candidate, where)


def _window(facet: Facet) -> str:
    """Messages that one side's context window dropped."""
    first, count = facet.messages[0], len(facet.messages)
    verb = "Dropping" if first.op == "removed" else "No longer dropping"
    what = "an earlier message" if count == 1 else f"{count} earlier messages"
    return f"{verb} {what} from the context (“{shorten(first.base or first.candidate, QUOTE)}”)"


def _message_note(op: str, role: str, base: str, candidate: str) -> str:
    if op == "changed":
        return f"{role}: {text_note(base, candidate)}"
    return f"{role} {op}: “{shorten(candidate or base, QUOTE)}”"


def _schemas(facet: Facet) -> str:
    base, candidate = _dict(facet.base), _dict(facet.candidate)
    added, removed = [name for name in candidate if name not in base], [name for name in base if name not in candidate]
    if added and not removed:
        return f"Offering the tool {', '.join(added[:3])}"
    if removed and not added:
        return f"No longer offering the tool {', '.join(removed[:3])}"
    changed = [name for name in base if name in candidate and base[name] != candidate[name]]
    return f"Changing the schema of {', '.join((changed or added)[:3])}"


def _settings(facet: Facet, owner: str) -> str:
    changes = _telling_first(value_changes(facet.base, facet.candidate, limit=6))
    model = next((change for change in changes if pointer_name(change.path) == "model"), None)
    if model:
        return f"Switching the model from {format_value(model.base)} to {format_value(model.candidate)}"
    return capitalize(" and ".join(_setting(change, owner) for change in changes[:2]))


def _setting(change: Change, owner: str) -> str:
    name = pointer_name(change.path)
    if change.op == "added":
        return f"setting {owner}{name} to {format_value(change.candidate)}"
    if change.op == "removed":
        return f"no longer setting {owner}{name}"
    return f"changing {owner}{name} from {format_value(change.base)} to {format_value(change.candidate)}"


def _documents(facet: Facet) -> str:
    changes = compare_ranks(rank_documents(facet.base), rank_documents(facet.candidate)).changes
    added = [change.title or change.document for change in changes if change.op == "added"]
    removed = [change.title or change.document for change in changes if change.op == "removed"]
    name = facet.pair.step.display_name
    if new := rewritten_documents(facet.base, facet.candidate):
        return _rewritten(new[0], {"reworded": len(new) - 1, "added": len(added), "removed": len(removed)}, name)
    if added and removed:
        return f"Retrieving “{shorten(added[0], 60)}” instead of “{shorten(removed[0], 60)}” in {name}"
    if added:
        return f"Retrieving “{shorten(added[0], 60)}” as well in {name}"
    if removed:
        return f"No longer retrieving “{shorten(removed[0], 60)}” in {name}"
    return f"Changing the order of the documents that {name} found"


def _rewritten(first: RewrittenDocument, others: Mapping[str, int], name: str) -> str:
    """Other words in a document, and how many other documents are reworded, new or gone."""
    said = [f"{count} {op}" for op, count in others.items() if count]
    also = f" (of the other documents, {', '.join(said)})" if said else ""
    return edit_phrase(first.base, first.candidate, f"a document that {name} found{also}")


def _calls_note(facet: Facet) -> str:
    """Which calls a model asks for now, and which before."""
    gone, come = (
        [call_text(call) for call in value] if isinstance(value, list) else []
        for value in (facet.base, facet.candidate)
    )
    if said := _same_tool_note(facet.base, facet.candidate):
        return said
    before = ", ".join(call for call in gone if call not in come)
    after = ", ".join(call for call in come if call not in gone)
    if before and after:
        was, now = difference_excerpts(before, after, QUOTE)
        return f"asks {now} instead of {was}"
    return f"now asks {shorten(after, QUOTE)}" if after else f"no longer asks {shorten(before, QUOTE)}"


def _same_tool_note(base: JSONValue, candidate: JSONValue) -> str:
    """Other arguments of one call to one tool; empty when more than that differs."""
    changes = value_changes(base, candidate, limit=4)
    parts = [change.path.split("/") for change in changes]
    if not changes or any(len(path) != 4 or path[1:3] != ["0", "arguments"] for path in parts):
        return ""
    name = _dict(base[0]).get("name") if isinstance(base, list) else ""
    return f"asks {name} with {', '.join(map(_argument_note, changes))}"


def _argument_note(change: Change) -> str:
    name = pointer_name(change.path)
    if change.op == "removed":
        return f"no {name}"
    instead = f" instead of {format_value(change.base)}" if change.op == "changed" else ""
    return f"{name} {format_value(change.candidate)}{instead}"


def _rank_note(facet: Facet) -> str:
    changes = compare_ranks(rank_documents(facet.base), rank_documents(facet.candidate)).changes
    count = {op: sum(change.op == op for change in changes) for op in ("added", "removed", "moved")}
    parts = [f"{number} {op}" for op, number in count.items() if number]
    if new := rewritten_documents(facet.base, facet.candidate):
        parts.append(f"{len(new)} reworded ({text_note(new[0].base, new[0].candidate)})")
    return f"documents: {', '.join(parts) or 'other scores'}"


def _answer(facet: Facet) -> str:
    """What a step answered: an operator's what-if, or another answer of the world."""
    name = facet.pair.step.display_name
    if side := idle_side(facet.pair.base, facet.pair.candidate):
        return f"Not running {name} in the {side}"
    if said := _failing(facet, name):
        return said
    if facet.form == "text":
        return edit_phrase(as_text(facet.base), as_text(facet.candidate), f"what {name} answered")
    changes = _telling_first(value_changes(facet.base, facet.candidate, limit=_READ))
    return _one_value(changes[0], name) if len(changes) == 1 else f"Changing what {name} answered ({_fields(changes)})"


def _failing(facet: Facet, name: str) -> str:
    """A call that failed on one side and was answered on the other; empty where both have an answer."""
    if facet.pair.sides is None or (facet.base is None) == (facet.candidate is None):
        return ""
    base, candidate = facet.pair.sides
    if candidate.status in _FAILING and facet.candidate is None:
        return f"{name} {_FAILING[candidate.status]} instead of answering {format_value(facet.base)}"
    if base.status in _FAILING and facet.base is None:
        return f"{name} answering {format_value(facet.candidate)} instead of {_FAILING[base.status]}"
    return ""


_FAILING: Final[Mapping[str, str]] = {
    StepStatus.ERROR: "failing",
    StepStatus.TIMEOUT: "timing out",
    StepStatus.DENIED: "being denied",
}


def _one_value(change: Change, name: str) -> str:
    """The only value that differs in what a step answered."""
    if change.op == "changed":
        owner = f"{name}'s {pointer_name(change.path)}" if pointer_name(change.path) else f"the answer of {name}"
        return f"Changing {owner} from {format_value(change.base)} to {format_value(change.candidate)}"
    verb, side = ("Adding", change.candidate) if change.op == "added" else ("Removing", change.base)
    joined = "to" if change.op == "added" else "from"
    return f"{verb} {pointer_name(change.path)} ({format_value(side)}) {joined} what {name} answered"


def _fields(changes: Sequence[Change]) -> str:
    """All values that differ: the first two with what they say, the others by name."""
    said: list[str] = []
    for op in ("changed", "added", "removed"):
        found = [change for change in changes if change.op == op]
        told = found if len(found) <= _TOLD else found[:_TOLD] if op == "changed" else []
        said += map(value_note, told)
        rest = [pointer_name(change.path) for change in found[len(told) :]]
        more = "more " if told else ""
        named = f"{', '.join(rest[:_LISTED])}{'…' if len(rest) > _LISTED else ''}"
        said += [f"{len(rest)} {more}field{'' if len(rest) == 1 else 's'} {op}: {named}"] if rest else []
    return "; ".join(said)


def _telling_first(changes: Sequence[Change]) -> list[Change]:
    """Differences that say how something went before the others."""
    return sorted(
        changes, key=lambda change: (change.op != "changed", _ORDER.get(pointer_name(change.path), len(_ORDER)))
    )


def _dict(value: JSONValue) -> JSONObject:
    return value if isinstance(value, dict) else {}
