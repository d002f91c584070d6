"""Results of Harbor's trials (`result.json`), and the trajectory to which each belongs.

A trajectory does not name its trial. It belongs to the result of its folder:

    <trial>/result.json     <trial>/agent/trajectory.json

Without folders, it belongs to the only result of its agent with the same tokens: Harbor copies them from the
trajectory.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from traces.core.json_access import as_object, as_text, is_integer
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedJudgement
from traces.importers.common.judgements import judgement, termination
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Source

NO_TRAJECTORIES: Final = "results of trials without their steps: import the trajectories of the trials"
_UNKNOWN: Final = "the rewards were not imported: import its folder, or an archive of it"
_AGENT_FOLDER: Final = "agent"
# In the folder of an agent, the trajectories of its subagents are files beside this one.
_MAIN_FILE: Final = "trajectory.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """The result of a trial; `key` is empty if nothing in it identifies a trajectory."""

    body: JSONObject
    source: Source
    key: str

    @property
    def error(self) -> str:
        """The type of the exception that ended the trial; empty without one."""
        exception = as_object(self.body.get("exception_info"))
        return as_text(exception.get("exception_type")) or ("exception" if exception else "")

    def judgements(self) -> Iterator[RecordedJudgement]:
        """Yield the rewards, and the exception that ended the trial."""
        rewards = as_object(as_object(self.body.get("verifier_result")).get("rewards"))
        for name, value in rewards.items():
            yield judgement(name, value)
        if self.error:
            yield termination(self.error)


def is_trial(value: JSONValue) -> bool:
    """Return True if `value` is the result of one trial."""
    return {"trial_name", "task_name", "verifier_result"} <= as_object(value).keys()


def read_trial(source: Source, body: JSONObject) -> Trial:
    agent, result = as_object(body.get("agent_info")), as_object(body.get("agent_result"))
    folder = PurePosixPath(source.name).parent
    totals = (result.get("n_input_tokens"), result.get("n_output_tokens"))
    return Trial(body=body, source=source, key=_key(folder, agent, *totals))


def trajectory_key(name: str, body: JSONObject) -> str:
    """Return the key that the trial of a trajectory has; `name` is that of its file."""
    totals, folder = as_object(body.get("final_metrics")), PurePosixPath(name).parent
    return _key(
        folder.parent if folder.name == _AGENT_FOLDER else folder,
        as_object(body.get("agent")),
        totals.get("total_prompt_tokens"),
        totals.get("total_completion_tokens"),
    )


def find_trials(trials: Sequence[Trial], sessions: Sequence[Mapping[str, str]]) -> list[Trial | None]:
    """Return the trial of each session, of which the keys are given by file; None if no trial is the only one.

    A trial that belongs to no session becomes a problem of its file.
    """
    by_key = {trial.key: trial for trial in trials if trial.key}
    copies = Counter(trial.key for trial in trials)
    sharers = Counter(key for session in sessions for key in set(session.values()))
    matches: list[Trial | None] = []
    for session in sessions:
        main = {key for file, key in session.items() if _is_main(file)}
        own = {key for key in session.values() if sharers[key] == 1}
        keys = [key for key in main | own if key in by_key and copies[key] == 1]
        matches.append(by_key[keys[0]] if len(keys) == 1 else None)
    uses = Counter(id(trial) for trial in matches)
    for trial in trials:
        if uses[id(trial)] != 1:
            matches = [None if item is trial else item for item in matches]
            reason = NO_TRAJECTORIES if not sessions else f"{_UNKNOWN} {as_text(trial.body.get('trial_name'))}"
            trial.source.problems.append(BadFile(reason, "/"))
    return matches


def _is_main(file: str) -> bool:
    path = PurePosixPath(file)
    return path.name == _MAIN_FILE and bool(path.parent.name)


def _key(folder: PurePosixPath, agent: JSONObject, tokens_in: JSONValue, tokens_out: JSONValue) -> str:
    if folder.name:
        return f"folder {folder}"
    name = as_text(agent.get("name"))
    are_counted = is_integer(tokens_in) and is_integer(tokens_out) and bool(tokens_in and tokens_out)
    return f"tokens {name} {tokens_in} {tokens_out}" if name and are_counted else ""
