"""Pairs of real recordings, and what the diff says of them from the recordings alone."""

from diffing.compare.run_side import Side
from diffing.content.similarity import Lexical
from diffing.report.build import build_report
from diffing.report.examination import Examination, examine
from diffing.schemas.report import DiffOptions, DiffReport
from tests.bench.attribution import transcripts
from tests.support.comparing import NOW, Store
from traces.core.ids import new_id
from traces.core.json_types import JSONObject


def compared(base: JSONObject, candidate: JSONObject) -> DiffReport:
    """The whole report of two transcripts, without embeddings."""
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


def examined(base: JSONObject, candidate: JSONObject) -> Examination:
    """What the recordings alone say, before it is put into words."""
    store = Store()
    return examine(_side(base, store), _side(candidate, store), store.load)


def _side(row: JSONObject, store: Store) -> Side:
    return transcripts.side(transcripts.run_of(row), store, links=True)


def succeeded(row: JSONObject) -> bool:
    outcome = row["outcome"]
    return isinstance(outcome, dict) and outcome.get("success") is True


def task(row: JSONObject) -> str:
    return str(row["task_id"])
