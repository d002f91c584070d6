"""Notes: what differs, in a few words with the old and the new text marked. Pure.

The texts of a note's spans make up its plain text: equal “amount ”, deleted “4200”, equal “ → ” and
inserted “42” read “amount 4200 → 42”.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from diffing.compare.comparison import Pair
from diffing.compare.placeholders import idle_side
from diffing.content.facet import Facet
from diffing.content.message_diff import MessagePair
from diffing.content.payload_texts import call_text
from diffing.schemas.sections import TextSpan
from diffing.sentences.text import VALUE, display_text, format_value, format_values, pointer_name
from diffing.sequences.json_diff import Change, have_same_items, value_changes
from diffing.sequences.ranked_lists import compare as compare_ranks
from diffing.sequences.ranked_lists import rank_documents, rewritten_documents
from diffing.sequences.text_diff import (
    Span,
    deleted_text,
    difference_excerpts,
    edit_spans,
    inserted_text,
    shorten,
)
from traces.core.canonical import digest
from traces.core.json_access import as_list, member
from traces.core.json_types import JSONValue

Note = list[TextSpan]

# Characters quoted of a text in a sentence.
QUOTE: Final = 90
# What differs in two texts with the same words.
UNSEEN: Final = "only spaces, line ends, the encoding of characters or fields beside the text differ"
# Differences searched for a status field.
MAX_CHANGES: Final = 40
# Share of a text that an edit leaves unchanged; below it, the text is another one.
MIN_EQUAL: Final = 0.5
_STATUS_FIELDS: Final = (
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
_STATUS_ORDER: Final = {name: place for place, name in enumerate(_STATUS_FIELDS)}


def plain_text(note: Note) -> str:
    """A note without its marks."""
    return "".join(span.text for span in note)


def plain_note(text: str) -> Note:
    """A note in which nothing is marked."""
    return [TextSpan(op="equal", text=text)] if text else []


def facet_note(facet: Facet) -> Note:
    """A change as a note: “amount 4200 → 42”."""
    if facet.part == "output" and (side := idle_side(facet.pair.base, facet.pair.candidate)):
        return plain_note(f"not run in the {side}: its output is a placeholder")
    if facet.form == "ranks":
        return _rank_note(facet)
    if facet.kind == "tool calls":
        return _calls_note(facet)
    if facet.form == "messages":
        return _join(map(_message_note, facet.messages[:2]), "; ")
    if facet.form == "text":
        return text_note(display_text(facet.base), display_text(facet.candidate))
    if have_same_items(facet.base, facet.candidate):
        return plain_note("the same items in another order")
    changes = value_changes(facet.base, facet.candidate, limit=MAX_CHANGES)
    return _join(map(value_note, status_fields_first(changes)[:2]), "; ")


def unpaired_note(pair: Pair) -> Note:
    """An unpaired step, as a note."""
    side, mark = ("base", _deletion) if pair.base else ("candidate", _insertion)
    if not pair.step.summary:
        return plain_note(f"only in the {side}")
    return [*plain_note(f"only in the {side}: "), mark(pair.step.summary)]


def join_effect(cause: Note, effect: Note) -> Note:
    """The change at the first step of a path, and its effect on the step's output."""
    if effect in ([], cause):
        return cause
    is_request = plain_text(effect).startswith("requests")
    return [*cause, *plain_note("; so it " if is_request else "; "), *effect]


def text_note(base: str, candidate: str) -> Note:
    """The deleted and inserted words of a text."""
    spans = edit_spans(base, candidate)
    deletions, insertions = deleted_text(spans), inserted_text(spans)
    # Fragments of two different sentences are less clear than both sentences.
    if deletions and insertions and equal_share(spans) < MIN_EQUAL:
        deletions, insertions = base, candidate
    if deletions and insertions:
        before, after = difference_excerpts(deletions, insertions, QUOTE)
        return _replacement(f"“{before}”", f"“{after}”")
    if insertions:
        return [*plain_note("+ "), _insertion(f"“{shorten(insertions, QUOTE)}”")]
    if not deletions:
        return plain_note(UNSEEN)
    return [*plain_note("− "), _deletion(f"“{shorten(deletions, QUOTE)}”")]


def value_note(change: Change) -> Note:
    """One difference of two values, with its name."""
    name = pointer_name(change.path)
    name_span = plain_note(f"{name} " if name else "")
    if change.op == "added":
        return [*name_span, _insertion(format_value(change.candidate)), *plain_note(" added")]
    if change.op == "removed":
        return [*name_span, _deletion(format_value(change.base)), *plain_note(" removed")]
    if isinstance(change.base, str) and isinstance(change.candidate, str):
        base, candidate = map(format_value, difference_excerpts(change.base, change.candidate, VALUE))
    else:
        base, candidate = format_values(change.base, change.candidate)
    return [*name_span, *_replacement(base, candidate)]


def equal_share(spans: Sequence[Span]) -> float:
    """The share of two texts that is equal."""
    total = sum(len(span.text) for span in spans)
    return sum(len(span.text) for span in spans if span.op == "equal") / total if total else 1.0


def status_fields_first(changes: Sequence[Change]) -> list[Change]:
    """Order differences: status fields first."""
    return sorted(
        changes,
        key=lambda change: (change.op != "changed", _STATUS_ORDER.get(pointer_name(change.path), len(_STATUS_ORDER))),
    )


def _deletion(text: str) -> TextSpan:
    return TextSpan(op="delete", text=text)


def _insertion(text: str) -> TextSpan:
    return TextSpan(op="insert", text=text)


def _replacement(base: str, candidate: str) -> Note:
    return [_deletion(base), *plain_note(" → "), _insertion(candidate)]


def _join(notes: Iterable[Note], separator: str) -> Note:
    result: Note = []
    for note in notes:
        result += [*plain_note(separator if result else ""), *note]
    return result


def _message_note(message: MessagePair) -> Note:
    if message.op == "changed":
        return [*plain_note(f"{message.role}: "), *text_note(message.base, message.candidate)]
    mark = _insertion if message.op == "added" else _deletion
    quote = f"“{shorten(message.candidate or message.base, QUOTE)}”"
    return [*plain_note(f"{message.role} {message.op}: "), mark(quote)]


def _calls_note(facet: Facet) -> Note:
    """The calls that a model requests on each side."""
    base_calls, candidate_calls = (
        [call_text(call) for call in as_list(value)] for value in (facet.base, facet.candidate)
    )
    if note := _same_tool_note(facet.base, facet.candidate):
        return note
    before = ", ".join((Counter(base_calls) - Counter(candidate_calls)).elements())
    after = ", ".join((Counter(candidate_calls) - Counter(base_calls)).elements())
    if not before and not after:
        is_order = Counter(map(digest, as_list(facet.base))) == Counter(map(digest, as_list(facet.candidate)))
        return plain_note(f"requests the same calls {'in another order' if is_order else 'with values of other types'}")
    if before and after:
        return [*plain_note("requests "), *_replacement(*difference_excerpts(before, after, QUOTE))]
    if after:
        return [*plain_note("now requests "), _insertion(shorten(after, QUOTE))]
    return [*plain_note("no longer requests "), _deletion(shorten(before, QUOTE))]


def _same_tool_note(base: JSONValue, candidate: JSONValue) -> Note:
    """Different arguments of one call to one tool; empty if more than that differs."""
    changes = value_changes(base, candidate, limit=4)
    parts = [change.path.split("/") for change in changes]
    if not changes or any(len(path) != 4 or path[1:3] != ["0", "arguments"] for path in parts):
        return []
    name = member(base[0], "name") if isinstance(base, list) else ""
    return [*plain_note(f"requests {name} with "), *_join(map(_argument_note, changes), ", ")]


def _argument_note(change: Change) -> Note:
    name = pointer_name(change.path)
    match change.op:
        case "removed":
            return [*plain_note("no "), _deletion(name)]
        case "added":
            return [*plain_note(f"{name} "), _insertion(format_value(change.candidate))]
        case "changed":
            return [*plain_note(f"{name} "), *_replacement(*format_values(change.base, change.candidate))]


def _rank_note(facet: Facet) -> Note:
    changes = compare_ranks(rank_documents(facet.base), rank_documents(facet.candidate)).changes
    counts = {op: sum(change.op == op for change in changes) for op in ("added", "removed", "moved", "rescored")}
    parts = [plain_note(f"{number} {op}") for op, number in counts.items() if number and op != "rescored"]
    if new := rewritten_documents(facet.base, facet.candidate):
        edit = text_note(new[0].base, new[0].candidate)
        parts.append([*plain_note(f"{len(new)} reworded ("), *edit, *plain_note(")")])
    return [*plain_note("documents: "), *(_join(parts, ", ") or plain_note(_unranked_changes(counts["rescored"])))]


def _unranked_changes(new_scores: int) -> str:
    return "different scores" if new_scores else "other fields differ"
