"""A recorded run before it is stored, as every importer and the capture SDK produce it.

Payload shapes by step type, the same for every source:

=========  ==================================================  ==============================================
type       input                                               output
=========  ==================================================  ==============================================
model      messages, tools?, parameters?, response_format?     message, finish_reason?
tool       the arguments themselves (an object)                the result itself (any JSON)
retrieval  query, top_k?, filters?, embedding_profile?         documents: [{id, content, score?, metadata?}]
prompt     template, template_id?, version?, variables?        text | messages
turn       messages: what came in (usually one user message)   message: the last answer of the turn, if any
agent      task or messages                                    text | any
output     any                                                 text, citations?
others     any                                                 any
=========  ==================================================  ==============================================

A message is `{role, content, tool_calls?, tool_call_id?, name?}`; `content` is a text, a list of typed blocks
or null; a tool call is `{id, name, arguments}` with `arguments` parsed. Absent fields are omitted, so that a
message in an output and the same message in a later input have the same digest. `tools` entries are
`{name, description?, parameters?}`.
"""

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Final

from traces.core.json_types import JSONObject, JSONValue
from traces.core.step_header import StepHeader, step_view
from traces.core.vocabulary import (
    JudgementKind,
    JudgementSource,
    Label,
    Reason,
    RunSource,
    RunStatus,
)

# Key of a run's metadata: what of its recording could not be read.
PROBLEM: Final = "recording_problem"


@step_view
class RecordedStep(StepHeader):
    """One step; `key` and `parent` name steps inside their run. A payload that is None was not recorded.

    `null_output` distinguishes an output that is null from one that was not recorded. `cost_usd` and the token
    counts are None if unknown; `attributes` stores source data that no other field represents; `links` are the keys
    of steps whose output this one consumed.
    """

    key: str
    parent: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    input: JSONValue = None
    output: JSONValue = None
    null_output: bool = False
    error: str = ""
    cost_usd: Decimal | None = None
    retries: int = 0
    links: tuple[str, ...] = ()
    attributes: JSONObject = field(default_factory=dict)
    label: Label = Label.LIVE
    reason: Reason | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedJudgement:
    """A verdict, a score or a note on a run, or on the step with the key `step`.

    `value` is the number of a score; `text` is a note, or the comment of a verdict or score. `detail` is what its
    source states beside that, such as a correction.
    """

    name: str
    kind: JudgementKind
    value: float | None = None
    text: str = ""
    source: JudgementSource = JudgementSource.IMPORT
    by: str = ""
    at: datetime | None = None
    step: str | None = None
    detail: JSONObject = field(default_factory=dict)


@step_view
class RecordedRun:
    """One run with its steps in sequence order; (`app`, `external_id`) is its identity.

    `judgements` are not part of the recorded content: the same run may be recorded again with more of them.
    `retractions` are earlier statements that a later one corrected or deleted.
    """

    external_id: str
    name: str
    app: str
    format: str
    steps: tuple[RecordedStep, ...]
    environment: str = ""
    source: RunSource = RunSource.IMPORT
    status: RunStatus = RunStatus.COMPLETED
    started_at: datetime | None = None
    ended_at: datetime | None = None
    tags: tuple[str, ...] = ()
    metadata: JSONObject = field(default_factory=dict)
    judgements: tuple[RecordedJudgement, ...] = ()
    retractions: tuple[RecordedJudgement, ...] = ()
