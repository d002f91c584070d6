"""The steps at which an edit of a program's code shows, found by running the program with and without the edit."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import NamedTuple

from replay.proofs.changes.atoms import Change
from tests.bench.attribution.cases import BenchCase
from tests.bench.attribution.mechanisms.running import record_run
from tests.bench.attribution.programs.shapes import Program
from traces.core.json_access import as_object, as_objects
from traces.core.json_types import JSONValue
from traces.core.recorded_run import RecordedStep
from traces.core.vocabulary import StepType

Texts = Sequence[tuple[str, str]]
_NO_STEP: RecordedStep = RecordedStep(key="", type=StepType.MODEL, name="")


class CodeNodes(NamedTuple):
    """The nodes whose inputs an edit of code sets, and those whose steps it adds or leaves out."""

    inputs: frozenset[str]
    steps: frozenset[str]

    def union(self, other: "CodeNodes") -> "CodeNodes":
        return CodeNodes(self.inputs | other.inputs, self.steps | other.steps)


@dataclass
class CodeEdits:
    """The edits of code in a case."""

    case: BenchCase
    program: Program
    _nodes: dict[str, CodeNodes] = field(default_factory=dict)
    _runs: dict[frozenset[tuple[str, str]], list[RecordedStep]] = field(default_factory=dict)

    def nodes(self, path: str) -> CodeNodes:
        """The nodes that the path of an edit names, and those of the steps that it alone makes differ.

        Up to the first output that differs, code got the same answers with and without the edit. So what differs there,
        the edit made.
        """
        if path not in self._nodes:
            kind, name, *rest = path.split(".")
            named = frozenset(name.split("+") if kind == "code" and rest else ())
            nodes = CodeNodes(named, named)
            for beside in ({}, self.case.by_id) if named else ():
                nodes = nodes.union(self._own_differences(path, beside))
            self._nodes[path] = nodes
        return self._nodes[path]

    def takes_over(self, path: str, place: int, texts: Texts) -> bool:
        """Return whether an edit of code makes this difference of a call's messages, which the edit of a text does not.

        Example: a user's message is edited, and code leaves it out of a later request. There, the edited text shows on
        one side, but no run with the edit of the text alone lacks the message. A run with the edit of the code does.
        """
        codes = [other for other in self._edited if other.startswith("code.")]
        return not self._makes(path, place, texts) and any(self._makes(code, place, texts) for code in codes)

    def _makes(self, path: str, place: int, texts: Texts) -> bool:
        """Return whether an edit alone makes exactly this difference, by no output that differs before."""
        base, candidate, alone = (self._calls(edits) for edits in ({}, self._edited, {path: self._edited[path]}))
        if place >= min(map(len, (base, candidate, alone))) or any(
            first.name != second.name or first.output != second.output
            for first, second in zip(base[:place], alone[:place], strict=True)
        ):
            return False
        before, after, own = (frozenset(_contents(steps[place].input)) for steps in (base, candidate, alone))
        shown = [(first, second) for first, second in texts if first in before - after or second in after - before]
        return (
            bool(shown)
            and own <= before | after
            and all(first not in own and (not second or second in own) for first, second in shown)
        )

    @property
    def _edited(self) -> dict[str, JSONValue]:
        return dict(hunk for injection in self.case.injections for hunk in injection.hunks)

    def _calls(self, edits: Mapping[str, JSONValue]) -> list[RecordedStep]:
        """The calls of a run with these edits."""
        key = frozenset((path, repr(value)) for path, value in edits.items())
        if key not in self._runs:
            run = record_run(self.program.program, {**self.program.settings, **edits}, "edit", self.program.model)
            self._runs[key] = [step for step in run.steps if step.type is not StepType.AGENT]
        return self._runs[key]

    def _own_differences(self, path: str, beside: Collection[str]) -> CodeNodes:
        """The nodes of the steps that differ by an edit beside these injections, before any output does.

        Where two runs go on with different nodes, those of the steps left out as well: a loop that ends earlier leaves
        out all steps until both runs go on with the same node.
        """
        settings = dict(hunk for name in beside for hunk in self.case.by_id[name].hunks)
        sides = [self._calls({**settings, path: value}) for value in (self.program.settings[path], self._edited[path])]
        inputs: set[str] = set()
        for place, steps in enumerate(zip_longest(*sides, fillvalue=_NO_STEP)):
            names = [step.name for step in steps]
            if names[0] != names[1]:
                return CodeNodes(frozenset({*inputs, *names}), frozenset({*inputs, *names, *_left_out(sides, place)}))
            if steps[0].input != steps[1].input:
                inputs.add(names[0])
            if steps[0].output != steps[1].output:
                break
        return CodeNodes(frozenset(inputs), frozenset(inputs))


def _left_out(sides: Sequence[Sequence[RecordedStep]], place: int) -> Iterator[str]:
    """The nodes of the steps of one run from a place on, until both go on with the same node."""
    for steps, opposite in (sides, sides[::-1]):
        names = [step.name for step in steps[place:]]
        if place < len(opposite) and opposite[place].name in names:
            yield from names[: names.index(opposite[place].name)]


def _contents(input: JSONValue) -> Iterator[str]:
    """The texts of a request's messages."""
    for message in as_objects(as_object(input).get("messages")):
        yield str(message.get("content"))


def is_step_of(change: Change, nodes: Collection[str]) -> bool:
    """Return whether a change is a step more or less of a node that edited code calls, or one of another such node."""
    names = _names(change)
    if change.atom.category == "structure":
        return not names.isdisjoint(nodes)
    return len(names) > 1 and names <= set(nodes)


def is_answer_of(change: Change, nodes: Collection[str]) -> bool:
    """Return whether a change is the answer that edited code composes of equal outputs."""
    return change.atom.category == "output" and change.atom.is_by_code and _names(change) <= {*nodes}


def is_input_of(change: Change, texts: Sequence[str]) -> bool:
    """Return whether a change is the input of the run, of which these texts are parts on either side."""
    if not change.atom.is_input:
        return False
    [inputs] = change.atom.texts
    return all(text in own for own, text in zip(inputs, texts, strict=True))


def _names(change: Change) -> set[str]:
    return {step.name for step in (change.atom.base, change.atom.candidate) if step is not None}
