"""How two tries at one task came apart, in words. Pure."""

from diffing.attribution.declared_config import Repeats
from diffing.attribution.unexplained_changes import Atom
from diffing.attribution.wording import closed, shown


def parted(declared: Repeats, first: Atom, ended: str) -> str:
    """Which tries they are, where they part, and in what it ended."""
    step = first.pair.base or first.pair.step
    return (
        f"Probably chance: these are two tries at one task under one configuration ({_tries(declared)}), and no "
        "recorded prompt, tool, model or setting differs between them. They part at step "
        f"{step.sequence_no}, where {_parting(first)}; in the end {closed(ended)}"
    )


def _tries(declared: Repeats) -> str:
    """Which tries they are, of which task."""
    counter = declared.counter.replace("_", " ").removesuffix(" id")
    return f"task {declared.task}, {counter} {shown(declared.base)} and {shown(declared.candidate)}"


def _parting(atom: Atom) -> str:
    """Where two tries that began alike went apart."""
    if atom.sampled:
        return "the model answered the same request differently"
    if atom.facet is None:
        return f"only the {'base' if atom.pair.base else 'candidate'} has a {atom.pair.step.type} step"
    worded = atom.facet.form == "messages"
    return "the user worded the request differently" if worded else "the model answered differently"
