"""The steps at which an edit of a program's code shows, found by running the program with and without the edit."""

from collections.abc import Collection
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import NamedTuple

from tests.bench.attribution.cases import BenchCase
from tests.bench.attribution.mechanisms.running import record_run
from tests.bench.attribution.programs.shapes import Program
from traces.core.vocabulary import StepType


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

    def nodes(self, path: str) -> CodeNodes:
        """The nodes that the path of an edit names, and those of the first step that it alone makes differ.

        Before that step, code got the same answers with and without the edit. So what differs there, the edit made.
        """
        if path not in self._nodes:
            kind, name, *rest = path.split(".")
            named = frozenset(name.split("+") if kind == "code" and rest else ())
            nodes = CodeNodes(named, named)
            for beside in ({}, self.case.by_id) if named else ():
                nodes = nodes.union(self._first_difference(path, beside))
            self._nodes[path] = nodes
        return self._nodes[path]

    def _first_difference(self, path: str, beside: Collection[str]) -> CodeNodes:
        """The nodes of the first step that differs by an edit beside these injections, and of the steps left out there.

        A loop that ends earlier leaves out all steps until both runs go on with the same node.
        """
        settings = {**self.program.settings, **dict(hunk for name in beside for hunk in self.case.by_id[name].hunks)}
        edited = dict(hunk for injection in self.case.injections for hunk in injection.hunks)
        sides = [{**settings, path: value} for value in (self.program.settings[path], edited[path])]
        runs = [record_run(self.program.program, side, "edit", self.program.model).steps for side in sides]
        calls = [[(step.name, step.input) for step in steps if step.type is not StepType.AGENT] for steps in runs]
        pairs = enumerate(zip_longest(*calls, fillvalue=("", None)))
        start, firsts = next(((start, pair) for start, pair in pairs if pair[0] != pair[1]), (0, ()))
        nodes = frozenset(name for name, _ in firsts)
        left_out: set[str] = set()
        for side in range(len(firsts)):
            later = [name for name, _ in calls[side][start:]]
            opposite = firsts[1 - side][0]
            left_out |= set(later[: later.index(opposite)]) if opposite in later else set()
        return CodeNodes(nodes, nodes | left_out)
