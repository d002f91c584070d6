"""Inputs with unknown parts: new values that cannot be derived from a changed step. Pure."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace

from replay.calls.typed_messages import TypedMessages
from replay.core.calls import Call
from replay.core.context import ReplayContext
from replay.core.graph import Link, Node
from replay.inputs.changes import Change, Incoming, Misses
from replay.inputs.rebuilt_inputs import is_reply, message_place
from replay.inputs.substitution import quoted_phrases, substitute
from replay.inputs.texts import leaves_in
from replay.overrides.request_edits import edited_names
from replay.state.replay_state import ReplayState
from traces.core.json_types import JSONValue
from traces.core.vocabulary import EdgeKind
from traces.payloads.messages import Message
from traces.provenance.short_values import words_of


class UnknownParts:
    """Unknown parts of the call under construction: link values, and replies of users."""

    def __init__(self, context: ReplayContext, state: ReplayState) -> None:
        self._context = context
        self._state = state
        self.misses: Misses = []
        self._messages = TypedMessages(context, state)

    def check(self, node: Node, incoming: Incoming, messages: Sequence[JSONValue] = ()) -> None:
        """Mark values that an unchanged step also provides: their origin is ambiguous.

        What a person may have typed stays as recorded.
        """
        changes = {change.node.no: change for _, change in incoming}
        self.misses = [link for link in self.misses if not _may_be_typed(link, changes, messages)]
        if not any(link.kind is EdgeKind.VALUE for link, _ in incoming):
            return
        links = self._context.graph.links.get(node.no, ())
        self.misses += _ambiguous(links, incoming, messages, self._state.changes)

    def drop(self, places: Container[str]) -> None:
        """Drop the unknown parts at places that an override sets."""
        self.misses = [link for link in self.misses if link.consumer_path not in places]

    def mark(self, call: Call) -> Call:
        """Mark the unknown parts of a call."""
        misses, self.misses = self.misses, []
        if (
            not self._context.brief
            and call.node is not None
            and (replies := self._messages.after_a_change(call.node)).count
        ):
            call = call.with_replies(replies)
        steps = tuple(sorted({link.producer for link in misses if link.kind is not EdgeKind.LINK}))
        if not steps or call.edits.arguments is not None:
            return call
        # A plan does not know what a live call will answer; the call itself will.
        if self._context.environment.planning and any(map(self._state.depends_on_live, steps)):
            return unknown_request(call, self._state)
        return replace(
            call,
            complete=False,
            changed=True,
            unknown_producers=steps,
            differs=call.differs or ("input",),
            signature="",
            reduced_signature="",
        )


def unknown_request(call: Call, state: ReplayState) -> Call:
    """Mark a call whose messages are unknown: it differs from the recorded one, and no cache matches it."""
    if call.node is not None:
        state.histories.unknowable.add(call.node.no)
    differs = tuple(dict.fromkeys(("messages", *call.differs, *edited_names(call.edits.model))))
    return replace(call, changed=True, differs=differs, signature="", reduced_signature="")


def _ambiguous(
    links: Iterable[Link], incoming: Incoming, messages: Sequence[JSONValue], changed: Container[int]
) -> Misses:
    """Links to values that an unchanged step also provides."""
    ambiguous_places = {_place(link) for link in links if _has_value(link) and link.producer not in changed}
    return [
        link
        for link, change in incoming
        if _has_value(link)
        and _place(link) in ambiguous_places
        and substitute(link.value, change) != link.value
        and not _may_be_typed(link, {change.node.no: change}, messages)
    ]


def _has_value(link: Link) -> bool:
    return link.kind is EdgeKind.VALUE and not link.copies


def _place(link: Link) -> tuple[str, str]:
    return link.consumer_path, link.value.casefold()


def _may_be_typed(link: Link, changes: Mapping[int, Change], messages: Sequence[JSONValue]) -> bool:
    """True if a person may have typed what a link traces: it is in a reply, and in the conversation before it.

    What the conversation did not show, code wrote: a result as a user's message, or examples before a question.
    """
    index, _ = message_place(link.consumer_path)
    if index is None or index >= len(messages) or not is_reply(messages, index):
        return False
    # The latest ones first, which a reply mostly refers to.
    earlier_texts = ("\n".join(leaves_in(message)) for message in reversed(messages[:index]))
    if link.value:
        value = _spaced_words(link.value)
        return any(value in _spaced_words(text) for text in earlier_texts)
    change = changes.get(link.producer)
    if change is None:
        return False
    phrases = quoted_phrases(Message(messages[index]).text, change)
    return bool(phrases) and any(not phrases.isdisjoint(quoted_phrases(text, change)) for text in earlier_texts)


def _spaced_words(text: str) -> str:
    return f" {' '.join(words_of(text))} "
