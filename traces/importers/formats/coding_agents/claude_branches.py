"""The lines of a Claude Code session as the tree that they are: its branches, and its sub-agents.

Lines get lost: one whose parent is not in the file goes on where the line before it ended. Going back in a session and
asking again leaves the old branch in the file. Two things look like branches and are none: the lines of one answer,
which share its message id, and the results of calls that were made at once, which each hang at the line of their call.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from traces.core.json_types import JSONObject
from traces.importers.files.json_reader import first, items, obj, text

_MOST_BRANCHES: Final = 100  # each may repeat a long beginning


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One line of the file, and its place."""

    given: JSONObject
    where: str

    @property
    def id(self) -> str:
        return text(self.given.get("uuid"))

    @property
    def parent(self) -> str:
        """The line before; where the conversation was compacted, the last line before that."""
        return text(first(self.given, "parentUuid", "logicalParentUuid"))

    def placed(self, id: str, parent: str) -> "Line":
        """The same line under another id and at another place of the tree."""
        return Line(
            given={**self.given, "uuid": id, "parentUuid": parent or None, "logicalParentUuid": None}, where=self.where
        )

    @property
    def is_message(self) -> bool:
        """Whether it is part of the conversation; others of the tree tell of it, and only connect."""
        return text(self.given.get("type")) in {"user", "assistant"} and isinstance(self.given.get("message"), dict)

    @property
    def answer(self) -> str:
        """The id of the model's answer that it is a part of."""
        is_answer = self.given.get("type") == "assistant"
        return text(obj(self.given.get("message")).get("id")) if is_answer else ""

    def blocks(self, type: str, field: str) -> list[str]:
        """`field` of its content blocks of a type."""
        content = [obj(block) for block in items(obj(self.given.get("message")).get("content"))]
        return [text(block.get(field)) for block in content if block.get("type") == type]


@dataclass(frozen=True, kw_only=True, slots=True)
class Branch:
    """The messages from the root to the end of a branch; `shared` of them begin another one too, that ends later."""

    lines: list[Line]
    shared: int


def branches(lines: Sequence[Line]) -> Iterator[Branch]:
    """The branches on which a model answered, the one that ends last first; that one whatever it holds."""
    tree = _Tree(lines)
    taken: set[str] = set()
    found = 0
    for end in reversed(tree.messages):
        new = tree.up(end.id, taken)
        if not found or (found < _MOST_BRANCHES and any(map(tree.is_answer, new))):
            branch = tree.branch(end)
            yield Branch(lines=branch, shared=next(at for at, line in enumerate(branch) if line.id not in taken))
            taken.update(line.id for line in branch)
            found += 1
        taken.update(new)


def joined(lines: Sequence[Line]) -> list[Line]:
    """The lines with the gaps between them closed, so that each is somewhere in the tree.

    A line whose parent is missing hangs at the line before it. A message without an id of its own comes between the
    line before it and the next one that hangs there.
    """
    ids = {line.id for line in lines if line.id}
    if not ids:
        return list(lines)
    known: dict[str, Line] = {}
    moved: dict[str, str] = {}
    before = ""
    for line in lines:
        twin = known.get(line.id)
        if twin is not None and twin.given.get("message") == line.given.get("message"):
            continue
        if twin is not None or not line.id:
            line = line.placed(f"at {line.where}", before)
            moved[before] = line.id
        elif line.parent in moved:
            line = line.placed(line.id, moved.pop(line.parent))
        elif line.parent and line.parent not in ids:
            line = line.placed(line.id, before)
        known[line.id] = line
        before = line.id
    return list(known.values())


def chains(lines: Sequence[Line]) -> list[list[Line]]:
    """The messages of sub-agents one by one: a line whose parent is not among them begins another.

    Where a sub-agent is named, a line that was lost does not break its chain.
    """
    known: dict[str, list[Line]] = {}
    named: dict[str, list[Line]] = {}
    found: list[list[Line]] = []
    for line in lines:
        agent = text(line.given.get("agentId"))
        chain = known.get(line.parent)
        if chain is None and agent:
            chain = named.get(agent)
        if chain is None:
            chain = []
            found.append(chain)
        if agent:
            named.setdefault(agent, chain)
        known[line.id] = chain
        if line.is_message:
            chain.append(line)
    return [chain for chain in found if chain]


class _Tree:
    """Where each line is, and which belong together though neither is an ancestor of the other."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._parents = {line.id: line.parent for line in lines if line.id}
        # where others have an id, one without is nowhere in the tree
        self.messages = [line for line in lines if line.is_message and (line.id or not self._parents)]
        self._places = {line.id: at for at, line in enumerate(self.messages)}
        self._answers: dict[str, list[Line]] = {}
        self._results: dict[str, list[Line]] = {}
        for line in self.messages:
            if line.answer:
                self._answers.setdefault(line.answer, []).append(line)
            for call in line.blocks("tool_result", "tool_use_id"):
                self._results.setdefault(call, []).append(line)

    def is_answer(self, id: str) -> bool:
        """Whether a model said it."""
        return id in self._places and self.messages[self._places[id]].given.get("type") == "assistant"

    def up(self, id: str, known: Container[str] = ()) -> dict[str, None]:
        """From a line to the root, or to what is known."""
        path: dict[str, None] = {}
        while id in self._parents and id not in path and id not in known:
            path[id] = None
            id = self._parents[id]
        return path

    def branch(self, end: Line) -> list[Line]:
        """From the root to `end`, with all lines of its answers, and the results of all their calls."""
        if not self._parents:
            return self.messages
        path = self.up(end.id)
        told = [self.messages[self._places[id]] for id in reversed(path) if id in self._places]
        answers = dict.fromkeys(line.answer for line in told if line.answer)
        _join(path, (line for answer in answers for line in self._answers[answer]))
        whole = [self.messages[self._places[id]] for id in path if id in self._places]
        answered = {call for line in told for call in line.blocks("tool_result", "tool_use_id")}
        calls = dict.fromkeys(call for line in whole for call in line.blocks("tool_use", "id") if call not in answered)
        _join(path, (line for call in calls for line in self._results.get(call, [])))
        return [self.messages[place] for place in sorted(self._places[id] for id in path if id in self._places)]


def _join(path: dict[str, None], lines: Iterable[Line]) -> None:
    """Add those of the lines that hang at the path."""
    for line in lines:
        if line.parent in path:
            path[line.id] = None
