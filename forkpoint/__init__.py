"""The capture SDK: record an agent's runs on a server, or in files that `forkpoint import` reads.

It needs only the standard library, never raises into the agent, and never makes it wait.

Example::

    import forkpoint

    forkpoint.init(app="order-desk")  # records the calls of known client libraries

    with forkpoint.recorder.run("refund", input=question):  # and everything else by hand
        with forkpoint.recorder.tool("get_order", {"id": 7}, call_id="c1") as tool:
            tool.output = get_order(7)
"""

from forkpoint.recorder import Recorder, recorder
from forkpoint.setup import flush, init, stats

__all__ = ["Recorder", "flush", "init", "recorder", "stats"]
