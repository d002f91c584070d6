"""Why a probe has no answer and why a change cannot be tested: every such sentence, from typed values. Pure."""

from typing import Final

# Why the agent's code would leave the replayed run.
CODE_DIVERGES: Final = "the agent's code would continue differently than in the replayed run"
CODE_UNSEEN: Final = (
    "the agent's code ran on a combination of answers that neither run had, and no recording shows its result"
)
FINAL_ANSWER_BY_CODE: Final = "the final answer is made by the agent's code, which a replay does not run"
OUTPUT_UNLINKED: Final = "no recorded data flow leads to the output step, so its output in this replay is unknown"
FAILURE_BY_CODE: Final = "the agent's code decides whether the run fails, and a replay does not run that code"
REPEATS_UNPAID: Final = "unchanged repeats need new model answers, and no live call is left in the budget"

RUN_BOTH: Final = "to test it, run the agent itself with and without it, and record both"
ONLY_CHANCE: Final = (
    "nothing was changed here: the model answered the same request differently; repeats of both runs show how often it "
    "does"
)
LAST_ANSWER: Final = f"the agent's own code assembles the last answer, and a replay does not run that code; {RUN_BOTH}"
NOT_IN_REQUEST: Final = f"it is not part of the recorded request, so no replay can show its effect; {RUN_BOTH}"
CODE_MAY_DERIVE: Final = (
    "it comes after a changed output, and the agent's own code may have derived it from that; replays assume that it "
    f"follows, as in the recordings; {RUN_BOTH}"
)
SAME_OUTPUT: Final = "the step has the same output in both runs, so it affected nothing after it"
SEVERAL_SETTINGS: Final = f"an override cannot set it together with the other changed settings; {RUN_BOTH}"
ARGUMENTS_UNRECORDED: Final = f"one of the runs does not record the tool's arguments; {RUN_BOTH}"
IN_ONE_RUN: Final = f"only one of the runs has this step; {RUN_BOTH}"
CALL_UNFINISHED: Final = f"one of the calls never ended, and no override can leave a call open; {RUN_BOTH}"
SAME_PLACE: Final = f"it changes the same place as another change, and the two cannot be separated; {RUN_BOTH}"
VALUE_REFUSED: Final = "an override does not accept such a value"
CONSUMER_IN_ONE_RUN: Final = "only one of the runs has the step that receives it"
MADE_UP: Final = "it is not a recorded answer"
OUTPUT_UNUSED: Final = "no recorded input contains its output, so no replay can show its effect"
STAND_IN: Final = "Its output is put where it was used; the step itself is neither added nor removed."
NO_DATA_FLOW: Final = "no replay adds or removes a step, and no recorded data flow shows where its output was used"
OTHER_CAUSES: Final = "its output depends on other changes as well, and only the agent's own code can recompute it"


def step_name(no: int, type: str, name: str) -> str:
    return f"step {no} ({type} {name})"


def unpaid(step: str) -> str:
    return f"{step} needs a new answer, and no live call is left in the budget"


def change_ignored(step: str, reason: str) -> str:
    return f"{step} needs a new answer, and {reason}"


def field_dropped(provider: str, fields: list[str]) -> str:
    """Why an answer of a provider shows nothing about a change."""
    return f"{provider} does not accept {' and '.join(fields)}, so its answers show nothing about that change"


def tool_unavailable(step: str) -> str:
    return f"{step}: no recording has this call, and the tool is not reviewed, allowed and configured to run"


def nothing_answers(step: str) -> str:
    return f"{step} needs a new answer, and nothing is allowed or configured to give it"


def model_unavailable(model: str, no: int) -> str:
    return f"no provider is configured for {model or 'the model'} of step {no}"


def guess(step: str, note: str) -> str:
    """Why a step's answer would be a guess; `note` is the replayer's."""
    return f"{step}: {note[:1].lower()}{note[1:]}"


def input_unknown(step: str, producer: int) -> str:
    return f"{step} receives the output of step {producer}, which only the agent's own code can compute"


def check_undecided(step: str, check: int) -> str:
    return f"{step} comes after the check at step {check}, which only the agent's own code can decide"


def unrecorded_call(step: str) -> str:
    return f"{step} is a call that no run recorded"


def replay_ended(status: str) -> str:
    return f"the replay was {status}"


def placeholder(no: int) -> str:
    return f"the answer at step {no} is a placeholder"


def used_by_code(step: str) -> str:
    return f"{step} uses it, which only the agent's own code computes"


def continues_conversation(step: str) -> str:
    return f"{step} continues its conversation and receives the other messages of that conversation with it"


def mixed_input(step: str) -> str:
    return f"{step} receives it together with the results of other changes"


def other_input_unrecorded(step: str) -> str:
    return f"the input that {step} had without it is not recorded"
