"""How calls of a running agent are answered, or why they are not."""

from collections.abc import Sequence
from dataclasses import dataclass

from replay.core.errors import SessionConflict
from replay.reruns.recordings import RecordedResponse
from traces.core.json_types import JSONObject


@dataclass(frozen=True, kw_only=True, slots=True)
class Resolution:
    """How a call is answered: by `response`, or live if it is None.

    `body` is the request with the overrides applied; None if they change nothing in it. `provider` is asked in place of
    the agent's own; empty if that one is.
    `row` is the call as it is stored.
    `call_id` is the call whose exchange is to be stored before its answer is given; None: it is stored, or need not be.
    `is_exact`: the response is that of the same call in the recording, whose step it becomes.
    `no` is the recorded call that it is, and `earlier_answers` are those that were answered before it meanwhile.
    """

    response: RecordedResponse | None
    row: int
    body: JSONObject | None = None
    provider: str = ""
    call_id: int | None = None
    is_exact: bool = False
    no: int | None = None
    earlier_answers: Sequence[int] = ()


class CallRefusal(SessionConflict):
    """Nothing may answer a call. Its exchange is to be stored as that of `call_id`, unless it is None."""

    def __init__(self, detail: str, *, call_id: int | None) -> None:
        super().__init__(detail)
        self.call_id = call_id


class CallInFlight(Exception):
    """The same call was made live before the agent was started again, or by another agent; its answer is on its way."""

    def __init__(self, call_id: int) -> None:
        super().__init__(call_id)
        self.call_id = call_id
