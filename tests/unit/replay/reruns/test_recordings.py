"""What of a recorded request must be equal in a request that it answers."""

import pytest

from replay.reruns.recordings import strict_fields
from traces.core.json_types import JSONObject


@pytest.mark.parametrize(
    "names",
    [
        [{"previous_response_id": f"resp_{number}"} for number in (1, 2)],
        [{"thread": {"type": "continue", "previous_message_id": f"msg_{number}"}} for number in (1, 2)],
    ],
)
def test_request_after_another_stored_answer_is_another_call(names: list[JSONObject]) -> None:
    fields = [strict_fields("p", "m", "api", {}, {"parameters": {"top_p": 1, **name}}) for name in names]
    assert fields[0] != fields[1]
