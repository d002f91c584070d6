"""The tree of lines in a Claude Code session: its branches and its sub-agents.

Files may lack lines: a line with a missing parent continues at the preceding line. Going back in a session leaves the
old branch in the file. Two structures look like branches but are not: the lines of one answer, which share its message
id, and the results of parallel calls, each a child of the line of its call.
"""

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, first_member, has_object
from traces.core.json_types import JSONObject
from traces.importers.common.messages import message_text

# Each branch may repeat a long shared beginning.
_MOST_BRANCHES: Final = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One line of the file and its location."""

    record: JSONObject
    location: str

    @property
    def id(self) -> str:
        return as_text(self.record.get("uuid"))

    @property
    def parent(self) -> str:
        """The id of the parent line; after a compaction, of the last line before it."""
        return as_text(first_member(self.record, "parentUuid", "logicalParentUuid"))

    def move(self, id: str, parent: str) -> "Line":
        """Return a copy of the line with another id and parent."""
        return Line(
            record={**self.record, "uuid": id, "parentUuid": parent or None, "logicalParentUuid": None},
            location=self.location,
        )

    @property
    def is_message(self) -> bool:
        """True for a message of the conversation; other lines are events that only connect messages."""
        return as_text(self.record.get("type")) in {"user", "assistant"} and has_object(self.record, "message")

    @property
    def text(self) -> str:
        """The text of a message."""
        return message_text(self.record.get("message")).lstrip()

    @property
    def answer(self) -> str:
        """The id of the model answer that the line is part of."""
        is_answer = self.record.get("type") == "assistant"
        return as_text(as_object(self.record.get("message")).get("id")) if is_answer else ""

    def blocks(self, type: str, field: str) -> list[str]:
        """Return `field` of each content block of a type."""
        content = [as_object(block) for block in as_list(as_object(self.record.get("message")).get("content"))]
        return [as_text(block.get(field)) for block in content if block.get("type") == type]


@dataclass(frozen=True, kw_only=True, slots=True)
class Branch:
    """The messages from the root to the end of a branch; `shared_length` of them also start a later branch."""

    lines: list[Line]
    shared_length: int


def branches(lines: Sequence[Line]) -> Iterator[Branch]:
    """Yield the branches with a model answer, the latest end first; the first one even without an answer."""
    tree = _Tree(lines)
    seen_ids: set[str] = set()
    count = 0
    for end in reversed(tree.messages):
        new_ids = tree.path_to_root(end.id, seen_ids)
        if not count or (count < _MOST_BRANCHES and any(map(tree.is_answer, new_ids))):
            branch = tree.branch(end)
            yield Branch(
                lines=branch, shared_length=next(index for index, line in enumerate(branch) if line.id not in seen_ids)
            )
            seen_ids.update(line.id for line in branch)
            count += 1
        seen_ids.update(new_ids)


def close_gaps(lines: Sequence[Line]) -> list[Line]:
    """Return the lines with all gaps closed, so that each line is in the tree.

    A line whose parent is missing becomes a child of the preceding line. A message without an id is inserted between
    the preceding line and the next child of that line.
    """
    ids = {line.id for line in lines if line.id}
    if not ids:
        return list(lines)
    lines_by_id: dict[str, Line] = {}
    moved_ids: dict[str, str] = {}
    previous_id = ""
    for line in lines:
        twin = lines_by_id.get(line.id)
        if twin is not None and twin.record.get("message") == line.record.get("message"):
            continue
        if twin is not None or not line.id:
            line = line.move(f"at {line.location}", previous_id)
            moved_ids[previous_id] = line.id
        elif line.parent in moved_ids:
            line = line.move(line.id, moved_ids.pop(line.parent))
        elif line.parent and line.parent not in ids:
            line = line.move(line.id, previous_id)
        lines_by_id[line.id] = line
        previous_id = line.id
    return list(lines_by_id.values())


def restore_order(lines: list[Line]) -> list[Line]:
    """Return the lines by their times and each after its parent, if a line is before its parent; others as they are."""
    places = {line.id: place for place, line in reversed([*enumerate(lines)]) if line.id}
    if all(places.get(line.parent, -1) < place or line.parent == line.id for place, line in enumerate(lines)):
        return lines
    times: list[str] = []
    for line in lines:
        times.append(as_text(line.record.get("timestamp")) or next(reversed(times), ""))
    by_time = [line for _, line in sorted(zip(times, lines, strict=True), key=lambda pair: pair[0])]
    children: dict[str, list[Line]] = defaultdict(list)
    ordered_lines: dict[int, Line] = {}
    ids: set[str] = set()
    for first_line in by_time:
        stack = [first_line]
        while stack:
            line = stack.pop()
            if line.parent in places and line.parent not in ids:
                children[line.parent].append(line)
                continue
            ordered_lines[id(line)] = line
            ids.add(line.id)
            stack += reversed(children.pop(line.id, []))
    # Lines that are their own ancestors.
    return [*ordered_lines.values(), *(line for line in by_time if id(line) not in ordered_lines)]


def chains(lines: Sequence[Line]) -> list[list[Line]]:
    """Group the messages by sub-agent: a line whose parent is missing starts another chain.

    An `agentId` keeps a chain together even if a line is lost.
    """
    chain_by_line: dict[str, list[Line]] = {}
    chain_by_agent: dict[str, list[Line]] = {}
    all_chains: list[list[Line]] = []
    for line in lines:
        agent = as_text(line.record.get("agentId"))
        chain = chain_by_line.get(line.parent)
        if chain is None and agent:
            chain = chain_by_agent.get(agent)
        if chain is None:
            chain = []
            all_chains.append(chain)
        if agent:
            chain_by_agent.setdefault(agent, chain)
        chain_by_line[line.id] = chain
        if line.is_message:
            chain.append(line)
    return [chain for chain in all_chains if chain]


class _Tree:
    """The parents of all lines, and the lines that belong together without being ancestors of each other."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._parents = {line.id: line.parent for line in lines if line.id}
        # If any line has an id, a line without one is not in the tree.
        self.messages = [line for line in lines if line.is_message and (line.id or not self._parents)]
        self._places = {line.id: index for index, line in enumerate(self.messages)}
        self._answers: dict[str, list[Line]] = {}
        self._results: dict[str, list[Line]] = {}
        for line in self.messages:
            if line.answer:
                self._answers.setdefault(line.answer, []).append(line)
            for call in line.blocks("tool_result", "tool_use_id"):
                self._results.setdefault(call, []).append(line)

    def is_answer(self, id: str) -> bool:
        """Return True if the line is a message from the model."""
        return id in self._places and self.messages[self._places[id]].record.get("type") == "assistant"

    def path_to_root(self, id: str, stop_ids: Container[str] = ()) -> dict[str, None]:
        """Return the path from a line up to the root or to the first of `stop_ids`."""
        path: dict[str, None] = {}
        while id in self._parents and id not in path and id not in stop_ids:
            path[id] = None
            id = self._parents[id]
        return path

    def branch(self, end: Line) -> list[Line]:
        """Return the lines from the root to `end`, with all lines of its answers and the results of all their calls."""
        if not self._parents:
            return self.messages
        path = self.path_to_root(end.id)
        path_lines = [self.messages[self._places[id]] for id in reversed(path) if id in self._places]
        answers = dict.fromkeys(line.answer for line in path_lines if line.answer)
        _join(path, (line for answer in answers for line in self._answers[answer]))
        all_lines = [self.messages[self._places[id]] for id in path if id in self._places]
        answered_calls = {call for line in path_lines for call in line.blocks("tool_result", "tool_use_id")}
        calls = dict.fromkeys(
            call for line in all_lines for call in line.blocks("tool_use", "id") if call not in answered_calls
        )
        _join(path, (line for call in calls for line in self._results.get(call, [])))
        return [self.messages[place] for place in sorted(self._places[id] for id in path if id in self._places)]


def _join(path: dict[str, None], lines: Iterable[Line]) -> None:
    """Add the lines whose parent is on the path."""
    for line in lines:
        if line.parent in path:
            path[line.id] = None
