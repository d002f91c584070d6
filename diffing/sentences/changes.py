"""Changes as short phrases that name the changed thing and quote the differing words. Pure."""

from collections.abc import Mapping, Sequence
from typing import Final

from diffing.compare.comparison import Pair
from diffing.compare.placeholders import idle_side
from diffing.content.facet import WINDOW, Facet
from diffing.sentences.notes import (
    MAX_CHANGES,
    MIN_EQUAL,
    QUOTE,
    equal_share,
    plain_text,
    status_fields_first,
    value_note,
)
from diffing.sentences.text import capitalize, display_text, format_value, format_values, pointer_name
from diffing.sequences.json_diff import Change, have_same_items, value_changes
from diffing.sequences.ranked_lists import RewrittenDocument, rank_documents, rewritten_documents
from diffing.sequences.ranked_lists import compare as compare_ranks
from diffing.sequences.text_diff import deleted_text, edit_spans, inserted_text, shorten
from traces.core.json_access import as_object
from traces.core.vocabulary import StepStatus, StepType

# Changed fields named with their values; of more, only the names.
_NAMED_VALUES: Final = 2
# Names of fields.
_MAX_FIELDS: Final = 8
# A change with more characters is named, not quoted.
_MAX_QUOTED: Final = 160
# How the similarity of two texts was measured.
METHODS: Final[Mapping[str, str]] = {
    "identical": "the texts are equal",
    "embeddings": "by meaning, with sentence embeddings",
    "difflib": "as text",
    "jaccard": "by shared words",
    "empty": "an answer without a counterpart counts as 0",
    "unavailable": "unknown: no pair of answers can be read, which counts as 0",
}
# Prefix of a cause that only observation names, and the parts after it. Stored sentences are recognised by them.
SUSPICION: Final = "Suspected, not proved: "
OPEN_CHANGES: Final = " Not ruled out: "
NO_DATA_FLOW: Final = " The recordings do not show how one led to the other."


def facet_phrase(facet: Facet) -> str:
    """A change as an action: “Adding “…” to the system prompt”."""
    if facet.part == "output" and idle_side(facet.pair.base, facet.pair.candidate):
        return _answer(facet)
    if facet.kind in TEXTS:
        return edit_phrase(display_text(facet.base), display_text(facet.candidate), TEXTS[facet.kind])
    if facet.kind == WINDOW:
        return _window_edit(facet)
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
    """A different answer of a model that no change explains."""
    return f"A different answer of the model to the same request at {step_name(pair)}"


def unpaired_phrase(pair: Pair) -> str:
    """An unpaired step."""
    side = "base" if pair.base else "candidate"
    number = pair.step.sequence_no
    if pair.step.type == StepType.TOOL:
        return f"{'Not calling' if pair.base else 'Calling'} {pair.step.display_name} at step {number} of the {side}"
    summary = f" (“{shorten(pair.step.summary, 60)}”)" if pair.step.summary else ""
    return f"{'The missing' if pair.base else 'An additional'} {pair.step.type} step {number} of the {side}{summary}"


def turn_phrase(pair: Pair, message: str) -> str:
    """A user's message with which only one run goes on."""
    return f"{'Removing' if pair.base else 'Adding'} a further message of the user (“{shorten(message, QUOTE)}”)"


def edit_phrase(base: str, candidate: str, location: str) -> str:
    """An edit of a text, by the deleted and inserted words."""
    spans = edit_spans(base, candidate)
    deletions, insertions = deleted_text(spans), inserted_text(spans)
    if not base.strip():
        return f"Giving {location} “{shorten(candidate, QUOTE)}”" if candidate.strip() else f"Changing {location}"
    if not candidate.strip():
        return f"Removing {location}"
    if not insertions and not deletions:
        return f"Changing {location}, but no word of it"
    if insertions and not deletions:
        return f"Adding “{shorten(insertions, QUOTE)}” to {location}"
    if deletions and not insertions:
        return f"Removing “{shorten(deletions, QUOTE)}” from {location}"
    if len(deletions) + len(insertions) <= _MAX_QUOTED or equal_share(spans) > MIN_EQUAL:
        return f"Changing “{shorten(deletions, QUOTE)}” to “{shorten(insertions, QUOTE)}” in {location}"
    return f"Rewriting {location} (now “{shorten(candidate, QUOTE)}”)"


def step_name(pair: Pair) -> str:
    """A step by number, type and name."""
    step = pair.step
    name = f" {step.display_name}" if step.display_name not in {step.type, ""} else ""
    return f"step {step.sequence_no} ({step.type}{name})"


# The texts of a prompt, by the kind of their difference.
TEXTS: Final = {
    "system prompt": "the system prompt",
    "template": "the prompt template",
    "rendered prompt": "the rendered prompt",
    "query": "the query",
}


def _message_edit(facet: Facet) -> str:
    if not facet.messages:
        return "Changing the messages"
    item = facet.messages[0]
    location = "the user's message" if item.role == "user" else f"a message of the {item.role or 'history'}"
    if item.op == "added":
        new = "a user's message" if item.role == "user" else location
        return f"Adding {new} (“{shorten(item.candidate, QUOTE)}”)"
    if item.op == "removed":
        return f"Removing {location} (“{shorten(item.base, QUOTE)}”)"
    return edit_phrase(item.base, item.candidate, location)


def _window_edit(facet: Facet) -> str:
    """Messages that the context window of one side dropped."""
    first, count = facet.messages[0], len(facet.messages)
    verb = "Dropping" if first.op == "removed" else "No longer dropping"
    noun = "an earlier message" if count == 1 else f"{count} earlier messages"
    return f"{verb} {noun} from the context (“{shorten(first.base or first.candidate, QUOTE)}”)"


def _schemas(facet: Facet) -> str:
    base, candidate = as_object(facet.base), as_object(facet.candidate)
    groups = {
        "changing the schema of": [name for name in base if name in candidate and base[name] != candidate[name]],
        "offering the tool": [name for name in candidate if name not in base],
        "no longer offering the tool": [name for name in base if name not in candidate],
    }
    return capitalize(" and ".join(f"{verb} {_names(names)}" for verb, names in groups.items() if names))


def _settings(facet: Facet, owner: str) -> str:
    changes = status_fields_first(value_changes(facet.base, facet.candidate, limit=_NAMED_VALUES + _MAX_FIELDS + 1))
    model = next((change for change in changes if pointer_name(change.path) == "model"), None)
    if model:
        return f"Switching the model from {format_value(model.base)} to {format_value(model.candidate)}"
    parts = [_setting(change, owner) for change in changes[:_NAMED_VALUES]]
    if rest := [pointer_name(change.path) for change in changes[_NAMED_VALUES:]]:
        parts = [", ".join(parts), f"changing {_names(rest)} as well"]
    return capitalize(" and ".join(parts))


def _names(names: Sequence[str]) -> str:
    """Names in a list; a long one ends with an ellipsis."""
    return f"{', '.join(names[:_MAX_FIELDS])}{'…' if len(names) > _MAX_FIELDS else ''}"


def _setting(change: Change, owner: str) -> str:
    name = pointer_name(change.path)
    if change.op == "added":
        return f"setting {owner}{name} to {format_value(change.candidate)}"
    if change.op == "removed":
        return f"no longer setting {owner}{name}"
    base, candidate = format_values(change.base, change.candidate)
    return f"changing {owner}{name} from {base} to {candidate}"


def _documents(facet: Facet) -> str:
    changes = compare_ranks(rank_documents(facet.base), rank_documents(facet.candidate)).changes
    added = [change.title or change.document for change in changes if change.op == "added"]
    removed = [change.title or change.document for change in changes if change.op == "removed"]
    name = facet.pair.step.display_name
    if new := rewritten_documents(facet.base, facet.candidate):
        return _rewritten(new[0], {"reworded": len(new) - 1, "added": len(added), "removed": len(removed)}, name)
    if added and removed:
        also = _other_documents({"added": len(added) - 1, "removed": len(removed) - 1})
        return f"Retrieving “{shorten(added[0], 60)}” instead of “{shorten(removed[0], 60)}” in {name}{also}"
    if added:
        return f"Retrieving “{shorten(added[0], 60)}” as well in {name}{_other_documents({'added': len(added) - 1})}"
    if removed:
        also = _other_documents({"removed": len(removed) - 1})
        return f"No longer retrieving “{shorten(removed[0], 60)}” in {name}{also}"
    ops = {change.op for change in changes}
    aspect = "order" if "moved" in ops else "scores" if "rescored" in ops else "metadata"
    return f"Changing the {aspect} of the documents from {name}"


def _rewritten(first: RewrittenDocument, other_counts: Mapping[str, int], name: str) -> str:
    """An edit of a document, and the numbers of other documents that are reworded, added or removed."""
    return edit_phrase(first.base, first.candidate, f"a document from {name}{_other_documents(other_counts)}")


def _other_documents(counts: Mapping[str, int]) -> str:
    """The numbers of documents that a phrase does not quote; empty if it quotes all."""
    parts = [f"{count} {op}" for op, count in counts.items() if count]
    return f" (other documents: {', '.join(parts)})" if parts else ""


def _answer(facet: Facet) -> str:
    """A change of a step's arguments, or of its output: an override, or a different answer of a tool."""
    name = facet.pair.step.display_name
    is_output = facet.part == "output"
    if is_output and (side := idle_side(facet.pair.base, facet.pair.candidate)):
        return f"Not running {name} in the {side}"
    if failure := _failing(facet, name):
        return failure
    owner = f"the {'output' if is_output else 'arguments' if facet.kind == 'arguments' else 'input'} of {name}"
    if facet.form == "text":
        return edit_phrase(display_text(facet.base), display_text(facet.candidate), owner)
    if have_same_items(facet.base, facet.candidate):
        return f"Changing the order of items in {owner}"
    changes = status_fields_first(value_changes(facet.base, facet.candidate, limit=MAX_CHANGES))
    return _one_value(changes[0], name, owner) if len(changes) == 1 else f"Changing {owner} ({_fields(changes)})"


def _failing(facet: Facet, name: str) -> str:
    """A call that failed on one side only; empty if both sides have an answer."""
    if facet.pair.sides is None or (facet.base is None) == (facet.candidate is None):
        return ""
    base, candidate = facet.pair.sides
    if candidate.status in _FAILING and facet.candidate is None:
        return f"{name} {_FAILING[candidate.status]} instead of returning {format_value(facet.base)}"
    if base.status in _FAILING and facet.base is None:
        return f"{name} returning {format_value(facet.candidate)} instead of {_FAILING[base.status]}"
    return ""


_FAILING: Final[Mapping[str, str]] = {
    StepStatus.ERROR: "failing",
    StepStatus.TIMEOUT: "timing out",
    StepStatus.DENIED: "being denied",
}


def _one_value(change: Change, name: str, owner: str) -> str:
    """The only differing value of a step's output or arguments, which is the `owner`."""
    if change.op == "changed":
        place = f"{name}'s {pointer_name(change.path)}" if pointer_name(change.path) else owner
        base, candidate = format_values(change.base, change.candidate)
        return f"Changing {place} from {base} to {candidate}"
    verb, value = ("Adding", change.candidate) if change.op == "added" else ("Removing", change.base)
    preposition = "to" if change.op == "added" else "from"
    return f"{verb} {pointer_name(change.path)} ({format_value(value)}) {preposition} {owner}"


def _fields(changes: Sequence[Change]) -> str:
    """All differing values: the first two with their values, the others by name."""
    parts: list[str] = []
    for op in ("changed", "added", "removed"):
        op_changes = [change for change in changes if change.op == op]
        named_changes = (
            op_changes if len(op_changes) <= _NAMED_VALUES else op_changes[:_NAMED_VALUES] if op == "changed" else []
        )
        parts += [plain_text(value_note(change)) for change in named_changes]
        rest = [pointer_name(change.path) for change in op_changes[len(named_changes) :]]
        more = "more " if named_changes else ""
        parts += [f"{len(rest)} {more}field{'' if len(rest) == 1 else 's'} {op}: {_names(rest)}"] if rest else []
    return "; ".join(parts)
