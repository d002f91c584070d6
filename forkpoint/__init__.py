"""The capture SDK: record an agent's runs to files that `forkpoint import` reads.

It needs only the standard library, never raises into the agent, and never blocks it.

Example::

    from forkpoint import recorder

    with recorder.run("refund", input=question):
        with recorder.model("gpt-4.1", messages=messages) as model:
            model.record_response(client.chat.completions.create(model="gpt-4.1", messages=messages))
        with recorder.tool("get_order", {"id": 7}, call_id="c1") as tool:
            tool.output = get_order(7)
        recorder.output("It has shipped.").record()
"""

from forkpoint.recorder import Recorder, recorder

__all__ = ["Recorder", "recorder"]
