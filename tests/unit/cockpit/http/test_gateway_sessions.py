"""What is noted of the gateway's sessions."""

from cockpit.http import gateway_sessions as sessions


def test_calls_of_a_run_are_noted() -> None:
    sessions.note_calls("run-with-calls")
    assert (sessions.has_calls("run-with-calls"), sessions.has_calls("run-without-calls")) == (True, False)
