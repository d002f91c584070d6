"""Kinds of random programs, by the statements that they consist of."""

from collections.abc import Mapping, Sequence
from typing import Final

from tests.bench.truth.patterns import PATTERNS
from tests.bench.truth.statements import STATEMENTS, Statement
from tests.bench.truth.states import STATES
from tests.bench.truth.transforms import TRANSFORMS

KINDS: Final[Mapping[str, Sequence[Statement]]] = {
    # Agents as they are usually built.
    "patterns": (*STATEMENTS, *PATTERNS),
    # Code with state, or that computes.
    "states": STATES,
    # Code that transforms values.
    "transforms": TRANSFORMS,
}
