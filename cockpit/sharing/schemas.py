"""Schemas of what share links open."""

from pydantic import RootModel

from diffing.schemas.report import DiffReport
from replay.experiments.core.schemas import ExperimentView
from replay.fork_tree.core.schemas import RunTree
from replay.sessions.schemas import SessionView
from traces.schemas import RunDetail


class SharedDocument(RootModel[DiffReport | RunDetail | SessionView | RunTree | ExperimentView]):
    """The subject of a link: a report, a run, a replay, a tree or an experiment."""
