"""Previews of pasted links: outcomes, counts and confidence of the subject, never a name or another payload."""

from collections import Counter
from collections.abc import Callable
from html import escape
from typing import Final, NamedTuple
from uuid import UUID

from cockpit.sharing.subjects import is_visible
from diffing import queries as diffs
from replay.experiments import queries as experiments
from replay.fork_tree import queries as trees
from replay.sessions import queries as replays
from traces.core.schema import LabelCounts
from traces.core.vocabulary import Outcome, ShareKind
from traces.models import Run
from traces.sharing import links

_PRODUCT: Final = (
    "Forkpoint replays a recorded agent run with one thing changed and shows why the answer came out differently."
)

# All others are probes of searches.
_PURPOSES: Final = ("fork", "experiment")


class _Preview(NamedTuple):
    title: str
    description: str = ""


def tags(token: str) -> str:
    """Return the title and the meta tags of the page of a link.

    A link that does not open for everybody looks like an unknown one, and a preview is no view.
    """
    link = links.link_for(token, "")
    is_open = link is not None and is_visible(link)
    preview = _PREVIEWS[ShareKind(link.kind)](link.subject) if link and is_open else _Preview("Shared with Forkpoint")
    description = f"{preview.description} {_PRODUCT}".strip()
    properties = {
        "og:type": "article",
        "og:site_name": "Forkpoint",
        "og:title": preview.title,
        "og:description": description,
    }
    metas = (f'<meta property="{name}" content="{escape(text)}" />' for name, text in properties.items())
    return "\n    ".join([f"<title>{escape(preview.title)} · Forkpoint</title>", *metas])


def _diff(id: UUID) -> _Preview:
    summary = diffs.summary(id)
    if summary is None:
        return _Preview("Shared report")
    outcomes, confidence = summary.outcomes, summary.confidence
    return _Preview(
        f"{outcomes.base.outcome.capitalize()} → {outcomes.candidate.outcome}: what changed and why",
        "A comparison of two agent runs."
        + (f" {confidence.capitalize()} confidence in the cause." if confidence else ""),
    )


def _run(id: UUID) -> _Preview:
    run = Run.objects.select_related("verdict").get(id=id)
    outcome = "" if run.verdict.outcome == Outcome.UNKNOWN else f": {run.verdict.outcome}"
    errors = f", {_count(run.error_count, 'error')}" if run.error_count else ""
    return _Preview(f"Agent run{outcome}", f"{_count(run.step_count, 'step')}{errors}.")


def _replay(id: UUID) -> _Preview:
    session = replays.session_view(id)
    after = session.outcome or Outcome.UNKNOWN
    return _Preview(
        f"Replay: {session.source_outcome} → {after}",
        f"An agent run, replayed from step {session.fork_sequence_no} with changes: {_labels(session.counts)}.",
    )


def _tree(id: UUID) -> _Preview:
    root, *derivations = trees.tree(Run.objects.select_related("verdict").get(id=id)).runs
    forks = [run for run in derivations if run.origin in _PURPOSES]
    outcomes = Counter(str(fork.outcome) for fork in forks)
    counts = ", ".join(f"{outcomes[outcome]} {outcome}" for outcome in Outcome if outcomes[outcome])
    return _Preview(
        f"{_count(len(forks), 'fork')} of an agent run",
        f"The recorded run: {root.outcome}." + (f" Its forks: {counts}." if forks else ""),
    )


def _experiment(id: UUID) -> _Preview:
    view = experiments.view(experiments.find(id))
    passed = sum(cell.passed for cell in view.aggregates)
    verdicts = sum(cell.verdicts for cell in view.aggregates)
    return _Preview(
        f"Experiment: {_count(view.cells, 'combination')} of settings",
        f"An agent run, replayed {_count(view.rows, 'time')} from step {view.fork_sequence_no}."
        + (f" {passed} of {verdicts} passed every check." if verdicts else ""),
    )


_PREVIEWS: Final[dict[ShareKind, Callable[[UUID], _Preview]]] = {
    ShareKind.DIFF: _diff,
    ShareKind.RUN: _run,
    ShareKind.REPLAY: _replay,
    ShareKind.TREE: _tree,
    ShareKind.EXPERIMENT: _experiment,
}


def _labels(counts: LabelCounts) -> str:
    labels = [f"{number} {label}" for label, number in counts.model_dump().items() if number]
    return ", ".join(labels) or "no steps"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
