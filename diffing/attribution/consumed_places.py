"""The places of an input with content of earlier steps, as recorded data flow shows them. Pure."""

from collections.abc import Iterable
from typing import Final

from diffing.compare.comparison import Pair
from diffing.compare.data_flow import Flow, FlowLink
from traces.core.vocabulary import EdgeKind

_SIDES: Final = ("base", "candidate")


def heads(links: Iterable[FlowLink]) -> frozenset[str]:
    """The messages of a request that data flow leads to."""
    return frozenset(head(link.path) for link in links)


def input_paths(pair: Pair, flow: Flow, changed: set[int], *, whole: bool = False) -> frozenset[str]:
    """Places in the input with content of a changed step, on both sides if the step is paired.

    `whole`: only content that was passed on as a whole.
    """
    links = [link for link in flow.incoming(pair.place) if link.producer in changed]
    links = [link for link in links if not whole or flow.is_whole(link)]
    base, candidate = ({head(link.path) for link in links if link.side == side} for side in _SIDES)
    return frozenset(base & candidate if pair.sides else base | candidate)


def head(path: str) -> str:
    """The beginning of a path: a message, a variable."""
    return "/".join(path.split("/")[:3])


def history_ends(pair: Pair, flow: Flow) -> tuple[int, int]:
    """The index, on each side, of the last message of the conversation that the step continues."""
    last_indexes = {"base": -1, "candidate": -1}
    for link in flow.incoming(pair.place):
        index = link.path.removeprefix("/messages/")
        if link.kind is EdgeKind.HISTORY and index.isdecimal():
            last_indexes[link.side] = max(last_indexes[link.side], int(index))
    return last_indexes["base"], last_indexes["candidate"]


def continues_answer(pair: Pair, flow: Flow) -> bool:
    """True if a step continues a conversation after an answer, with messages that repeat no earlier output."""
    end = max(history_ends(pair, flow))
    return end >= 0 and all(_message_index(link) <= end for link in flow.incoming(pair.place))


def _message_index(link: FlowLink) -> int:
    """The index of the message that a link leads to; -1 for another place."""
    index = link.path.removeprefix("/messages/").split("/")[0]
    return int(index) if index.isdecimal() else -1
