"""Pairs of real recordings, and their diff from the recordings alone."""

from diffing.compare.run_side import Side
from diffing.content.similarity import Lexical
from diffing.report.build import build_report
from diffing.report.examination import Examination, examine
from diffing.schemas.report import DiffOptions, DiffReport
from tests.bench.attribution import transcripts
from tests.support.comparing import NOW, Store
from traces.core.ids import new_id
from traces.core.json_types import JSONObject


def compare_transcripts(base: JSONObject, candidate: JSONObject) -> DiffReport:
    """Return the full report of two transcripts, without embeddings."""
    store = Store()
    return build_report(
        id=new_id(),
        created_at=NOW,
        base=_side(base, store),
        candidate=_side(candidate, store),
        options=DiffOptions(similarity="lexical"),
        measure=Lexical(),
        load=store.load,
    )


def examine_transcripts(base: JSONObject, candidate: JSONObject) -> Examination:
    """Return the examination of the recordings alone, before it is worded."""
    store = Store()
    return examine(_side(base, store), _side(candidate, store), store.load)


def _side(row: JSONObject, store: Store) -> Side:
    return transcripts.side(transcripts.run_of(row), store, links=True)


def is_successful(row: JSONObject) -> bool:
    outcome = row["outcome"]
    return isinstance(outcome, dict) and outcome.get("success") is True


def task(row: JSONObject) -> str:
    return str(row["task_id"])
