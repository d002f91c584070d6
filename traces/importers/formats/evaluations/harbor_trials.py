"""Results of Harbor's trials (`result.json`), and the trajectory to which each belongs.

A trajectory does not name its trial. It belongs to the result of its folder:

    <trial>/result.json     <trial>/agent/trajectory.json

Without folders, it belongs to the only result of its agent with the same tokens: Harbor copies them from the
trajectory. A folder without a trajectory is of an agent that writes its own log: its result is a run without steps.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from traces.core.json_access import as_object, as_text, is_integer, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedJudgement, RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.importers.common.judgements import judgement, termination
from traces.importers.common.model_calls import parse_cost, parse_token_count
from traces.importers.common.run_builder import AGENT_KEY, RunFacts, build_run
from traces.importers.common.times import parse_span
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Source

NO_TRAJECTORIES: Final = "results of trials without their steps: import the trajectories of the trials"
_UNKNOWN: Final = "the rewards were not imported: import its folder, or an archive of it"
_AGENT_FOLDER: Final = "agent"
_FOLDER: Final = "folder "
# In the folder of an agent, the trajectories of its subagents are files beside this one.
_MAIN_FILE: Final = "trajectory.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """The result of a trial; `key` is empty if nothing in it identifies a trajectory."""

    body: JSONObject
    source: Source
    key: str

    @property
    def task(self) -> str:
        return as_text(self.body.get("task_name"))

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


def lone_trials(trials: Sequence[Trial], sessions: Sequence[Mapping[str, str]]) -> list[Trial]:
    """Return the trials whose folders have no trajectory."""
    keys = {key for session in sessions for key in session.values()}
    return [trial for trial in trials if trial.key.startswith(_FOLDER) and trial.key not in keys]


def trial_run(trial: Trial) -> RecordedRun:
    """Build the run of a trial from its result alone: its totals, times, rewards and the exception that ended it."""
    body, agent = trial.body, as_object(trial.body.get("agent_info"))
    model, result = as_object(agent.get("model_info")), as_object(body.get("agent_result"))
    times, whole = (
        parse_span(span.get("started_at"), span.get("finished_at"), "/")
        for span in (as_object(body.get("agent_execution")), body)
    )
    failure = as_text(as_object(body.get("exception_info")).get("exception_message")) or trial.error
    step = RecordedStep(
        key=AGENT_KEY,
        type=StepType.AGENT,
        name=as_text(agent.get("name")) or "agent",
        status=StepStatus.ERROR if failure else StepStatus.OK,
        error=failure,
        model=as_text(model.get("name")),
        provider=as_text(model.get("provider")),
        tokens_in=parse_token_count(result.get("n_input_tokens"), "/agent_result"),
        tokens_cached=parse_token_count(result.get("n_cache_tokens"), "/agent_result"),
        tokens_out=parse_token_count(result.get("n_output_tokens"), "/agent_result"),
        cost_usd=parse_cost(result.get("cost_usd")),
        started_at=times.start,
        ended_at=times.end,
    )
    return build_run(
        RunFacts(
            external_id=as_text(body.get("id")) or as_text(body.get("trial_name")),
            app=step.name,
            format="atif",
            name=trial.task,
            failed=bool(failure),
            started_at=whole.start,
            ended_at=whole.end,
            tags=[f"task:{trial.task}"] if trial.task else [],
            metadata=omit(body, "id"),
            judgements=trial.judgements(),
        ),
        [step],
        location=trial.source.name,
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
        return f"{_FOLDER}{folder}"
    name = as_text(agent.get("name"))
    are_counted = is_integer(tokens_in) and is_integer(tokens_out) and bool(tokens_in and tokens_out)
    return f"tokens {name} {tokens_in} {tokens_out}" if name and are_counted else ""
