"""Calls with the overrides of a fork, as they are sent to the provider."""

import json

from cockpit.gateway.events import Call
from cockpit.gateway.playback import edited_call
from cockpit.gateway.routes import find_route
from replay.reruns.resolutions import Resolution


def test_another_model_of_gemini_is_in_the_address() -> None:
    route = find_route("/gateway/s1/gemini/v1beta/models/m1:streamGenerateContent", lambda _: "")
    assert route is not None
    assert route.operation is not None
    call = Call(
        run_id="r1",
        id="c1",
        provider="gemini",
        protocol="gemini",
        operation=route.operation,
        run_start=0,
        start=1,
        body=b"{}",
        query="alt=sse",
    )
    edited = edited_call(call, Resolution(response=None, row=1, body={"contents": [], "model": "m2"}))
    assert edited.url("http://host") == "http://host/v1beta/models/m2:streamGenerateContent?alt=sse"
    assert (edited.operation.model, json.loads(edited.body)) == ("m2", {"contents": []})
