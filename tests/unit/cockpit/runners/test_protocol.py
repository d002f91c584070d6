"""What a runner may send."""

from uuid import UUID

import pytest
from pydantic import ValidationError

from cockpit.runners.protocol import RunnerMessage

_SESSION = {"session": str(UUID(int=0)), "attempt": 1}


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2026-11-20T12:00:00"])
def test_time_of_a_line_can_be_stored(time: str) -> None:
    line = {"no": 1, "stream": "stdout", "text": "", "at": "2026-11-20T12:00:00Z"}
    output = {"type": "output", **_SESSION, "lines": [line]}
    assert RunnerMessage.validate_python(output)
    line["at"] = time
    with pytest.raises(ValidationError):
        RunnerMessage.validate_python(output)


def test_exit_code_can_be_stored() -> None:
    end = {"type": "exit", **_SESSION, "code": 2**31 - 1}
    assert RunnerMessage.validate_python(end)
    with pytest.raises(ValidationError):
        RunnerMessage.validate_python({**end, "code": 2**31})
