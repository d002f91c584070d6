"""Why a change cannot be tested by a replay, and why a probe has no answer. Pure."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

STAND_IN: Final = "Its output is put where it was used; the step itself is neither added nor removed."
_RUN_BOTH: Final = "to test it, run the agent itself with and without it, and record both"


class Obstacle(StrEnum):
    """Why a change cannot be tested."""

    ONLY_CHANCE = "only_chance"
    LAST_ANSWER = "last_answer"
    NOT_IN_REQUEST = "not_in_the_request"
    READ_BY_CODE = "read_by_code"
    CODE_MAY_DERIVE = "code_may_derive_it"
    SAME_OUTPUT = "same_output"
    SEVERAL_SETTINGS = "several_settings"
    ARGUMENTS_UNRECORDED = "arguments_not_recorded"
    OUTPUT_UNRECORDED = "output_not_recorded"
    PARAMETERS_UNRECORDED = "parameters_not_recorded"
    ONE_RUN_ONLY = "one_run_only"
    CALL_UNFINISHED = "call_unfinished"
    SAME_PLACE = "same_place"
    VALUE_REJECTED = "value_rejected"
    CONSUMER_ON_ONE_SIDE = "consumer_on_one_side"
    NOT_RECORDED = "not_recorded"
    OUTPUT_UNUSED = "output_unused"
    NO_DATA_FLOW = "no_data_flow"
    OTHER_CAUSES = "other_causes"
    CODE_CONSUMER = "code_uses_it"
    CONVERSATION = "continues_a_conversation"
    MIXED_INPUT = "mixed_input"
    OTHER_INPUT_UNRECORDED = "other_input_not_recorded"
    AGENT_MAKES = "agent_makes_it"
    NOT_WHILE_RUNNING = "not_while_the_agent_runs"


class Gap(StrEnum):
    """Why a probe has no answer."""

    CODE_DIVERGES = "code_diverges"
    CODE_UNSEEN = "code_unseen"
    FINAL_ANSWER_BY_CODE = "final_answer_by_code"
    OUTPUT_UNLINKED = "output_unlinked"
    FAILURE_BY_CODE = "failure_by_code"
    REPEATS_UNPAID = "repeats_unpaid"
    UNPAID = "unpaid"
    CHANGE_IGNORED = "change_ignored"
    TOOL_UNAVAILABLE = "tool_unavailable"
    NO_SOURCE = "no_source"
    MODEL_UNAVAILABLE = "model_unavailable"
    GUESS = "guess"
    INPUT_UNKNOWN = "input_unknown"
    CHECK_UNDECIDED = "check_undecided"
    UNRECORDED_CALL = "unrecorded_call"
    REPLAY_ENDED = "replay_ended"
    PLACEHOLDER = "placeholder"
    OUTCOME_UNDECIDED = "outcome_undecided"
    AGENT_FAILED = "agent_failed"
    AGENT_DIVERGED = "agent_diverged"
    AGENT_SKIPPED_CALLS = "agent_skipped_calls"
    AGENT_OUTCOME = "agent_outcome"
    AGENT_ENDED = "agent_ended"
    AGENT_CHANGE_LOST = "agent_change_lost"
    AGENT_UNANSWERED = "agent_unanswered"
    AGENT_NOT_STARTED = "agent_not_started"
    AGENT_UNLIKE_RECORDINGS = "agent_unlike_recordings"
    STEP_OF_OTHER_RUN = "step_of_other_run"


_OBSTACLES: Final[Mapping[Obstacle, str]] = {
    Obstacle.ONLY_CHANCE: "nothing was changed here: the model answered the same request differently; repeats of both "
    "runs show how often it does",
    Obstacle.LAST_ANSWER: "the agent's own code assembles the last answer, and a replay does not run that code; "
    f"{_RUN_BOTH}",
    Obstacle.NOT_IN_REQUEST: f"it is not part of the recorded request, so no replay can show its effect; {_RUN_BOTH}",
    Obstacle.READ_BY_CODE: "no request or call passes it on as it is, so the agent's own code reads it, which a replay "
    f"does not run; {_RUN_BOTH}",
    Obstacle.CODE_MAY_DERIVE: "it comes after a changed output, and the agent's own code may have derived it from "
    f"that; replays assume that it follows, as in the recordings; {_RUN_BOTH}",
    Obstacle.SAME_OUTPUT: "the step has the same output in both runs, so it affected nothing after it",
    Obstacle.SEVERAL_SETTINGS: f"an override cannot set it together with the other changed settings; {_RUN_BOTH}",
    Obstacle.ARGUMENTS_UNRECORDED: f"one of the runs does not record the tool's arguments; {_RUN_BOTH}",
    Obstacle.OUTPUT_UNRECORDED: f"one of the runs does not record this output; {_RUN_BOTH}",
    Obstacle.PARAMETERS_UNRECORDED: "one of the runs records no parameters of this request, so it may have used the "
    f"same; {_RUN_BOTH}",
    Obstacle.ONE_RUN_ONLY: f"only one of the runs has this step; {_RUN_BOTH}",
    Obstacle.CALL_UNFINISHED: f"one of the calls never ended, and no override can leave a call open; {_RUN_BOTH}",
    Obstacle.SAME_PLACE: f"it changes the same place as another change, and the two cannot be separated; {_RUN_BOTH}",
    Obstacle.VALUE_REJECTED: "an override does not accept such a value",
    Obstacle.CONSUMER_ON_ONE_SIDE: "only one of the runs has the step that receives it",
    Obstacle.NOT_RECORDED: "it is not a recorded answer",
    Obstacle.OUTPUT_UNUSED: "no recorded input contains its output, so no replay can show its effect",
    Obstacle.NO_DATA_FLOW: "no replay adds or removes a step, and no recorded data flow shows where its output was "
    f"used; {_RUN_BOTH}",
    Obstacle.OTHER_CAUSES: "its output depends on other changes as well, and only the agent's own code can recompute "
    f"it; {_RUN_BOTH}",
    Obstacle.CODE_CONSUMER: f"{{step}} uses it, which only the agent's own code computes; {_RUN_BOTH}",
    Obstacle.CONVERSATION: "{step} continues its conversation and receives the other messages of that conversation "
    f"with it; {_RUN_BOTH}",
    Obstacle.MIXED_INPUT: f"{{step}} receives it together with the results of other changes; {_RUN_BOTH}",
    Obstacle.OTHER_INPUT_UNRECORDED: f"the input that {{step}} had without it is not recorded; {_RUN_BOTH}",
    Obstacle.AGENT_MAKES: "it comes after a changed output, or only one run has it: the running agent makes it itself, "
    "from what it gets",
    Obstacle.NOT_WHILE_RUNNING: "it cannot be set while the agent itself runs ({detail})",
}
_GAPS: Final[Mapping[Gap, str]] = {
    Gap.CODE_DIVERGES: "the agent's code would continue differently than in the replayed run",
    Gap.CODE_UNSEEN: "the agent's code ran on a combination of answers that neither run had, and no recording shows "
    "its result",
    Gap.FINAL_ANSWER_BY_CODE: "the final answer is made by the agent's code, which a replay does not run",
    Gap.OUTPUT_UNLINKED: "no recorded data flow leads to the output step, so its output in this replay is unknown",
    Gap.FAILURE_BY_CODE: "the agent's code decides whether the run fails, and a replay does not run that code",
    Gap.REPEATS_UNPAID: "unchanged repeats need new model answers, and no live call is left in the budget",
    Gap.UNPAID: "{step} needs a new answer, and no live call is left in the budget",
    Gap.CHANGE_IGNORED: "{step} needs a new answer, and {detail}",
    Gap.TOOL_UNAVAILABLE: "{step}: no recording has this call, and the tool is not reviewed, allowed and configured to "
    "run",
    Gap.NO_SOURCE: "{step} needs a new answer, and nothing is allowed or configured to give it",
    Gap.MODEL_UNAVAILABLE: "no provider is configured for {detail} of step {number}",
    Gap.GUESS: "{step}: {detail}",
    Gap.INPUT_UNKNOWN: "{step} receives the output of step {number}, which only the agent's own code can compute",
    Gap.CHECK_UNDECIDED: "{step} comes after the check at step {number}, which only the agent's own code can decide",
    Gap.UNRECORDED_CALL: "{step} is a call that no run recorded",
    Gap.REPLAY_ENDED: "the replay was {detail}",
    Gap.PLACEHOLDER: "the answer at step {number} is a placeholder",
    Gap.OUTCOME_UNDECIDED: "nothing in the replay decides whether it passes: {detail}",
    Gap.AGENT_FAILED: "the agent could not run: {detail}",
    Gap.AGENT_DIVERGED: "the agent left the recording before anything was changed, so this replay shows nothing about "
    "the changes: {detail}",
    Gap.AGENT_SKIPPED_CALLS: "the agent, started unchanged, did not make the recorded call of step {number}",
    Gap.AGENT_CHANGE_LOST: "a change of one step could not be applied to what the agent did in its place ({step})",
    Gap.AGENT_ENDED: "the agent ended with an error",
    Gap.AGENT_OUTCOME: "the agent, started unchanged, made the recorded calls and came to another outcome ({detail})",
    Gap.AGENT_UNANSWERED: "the agent made a call that no run recorded, and no live call is left in the budget: "
    "{detail}",
    Gap.AGENT_NOT_STARTED: "as far as the recordings show, the agent would make a call that no run recorded, and no "
    "live call is left in the budget",
    Gap.AGENT_UNLIKE_RECORDINGS: "the agent that the runner starts does not do what is recorded, so what it does "
    "now is no evidence about these runs: {detail}",
    Gap.STEP_OF_OTHER_RUN: "the agent that the runner starts does not reproduce the run with this step",
}


def obstacle(kind: Obstacle, *, step: str = "", detail: str = "") -> str:
    """Why a change cannot be tested, as a clause."""
    return _OBSTACLES[kind].format(step=step, detail=detail)


def gap(kind: Gap, *, step: str = "", number: int = 0, detail: str = "") -> str:
    """Why a probe has no answer, as a clause; `detail` is a reason, the name of a model or a status."""
    return _GAPS[kind].format(step=step, number=number, detail=detail)


def unavailable_model(model: str, number: int) -> str:
    return gap(Gap.MODEL_UNAVAILABLE, detail=model or "the model", number=number)


def guess(step: str, note: str) -> str:
    """Why a step's answer would be a guess; `note` is the replayer's."""
    return gap(Gap.GUESS, step=step, detail=f"{note[:1].lower()}{note[1:]}")


def dropped_fields(provider: str, fields: Sequence[str]) -> str:
    """Why an answer of a provider shows nothing about a change."""
    return f"{provider} does not accept {' and '.join(fields)}, so its answers show nothing about that change"


def call_difference(path: str, old: str, new: str, number: int) -> str:
    """How a call of the running agent differs from the recorded one, as a clause."""
    if not path:
        return "it made a call that is none of those left in the recording"
    return f"at {path} its call has {new}, and step {number} has {old}"


def step_name(number: int, type: str, name: str) -> str:
    return f"step {number} ({type} {name})"
