"""The capture SDK: record an agent's runs on a server, or in files that `forkpoint import` reads.

It needs only the standard library, never raises into the agent, and never makes it wait.

Example::

    import forkpoint

    forkpoint.init(app="order-desk")  # records the calls of known client libraries


    @forkpoint.tool  # and the tools of a plain loop, which a rerun answers from the recording
    def get_order(id): ...


    with forkpoint.recorder.run("refund", input=question):  # and everything else by hand
        with forkpoint.recorder.model("m1", messages=messages) as model:
            model.record_response(ask(messages))
"""

from forkpoint.capture.values import now, random, uuid
from forkpoint.recorder import Recorder, recorder
from forkpoint.setup import base_url, flush, init, is_replay, stats, tool

__all__ = ["Recorder", "base_url", "flush", "init", "is_replay", "now", "random", "recorder", "stats", "tool", "uuid"]
