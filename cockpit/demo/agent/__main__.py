"""The desk as a program: `python -m cockpit.demo.agent '{"messages": ["Where is my parcel?"]}'`.

It prints the answer, and ends with an error if its check fails. Its model is the local one: that of the server in a
replay, else `python -m cockpit.demo.local_model.server`.
"""

import json
import sys
from typing import Final

import forkpoint
from cockpit.demo.agent.desk import PROVIDER, Conversation, answer

_ADDRESS: Final = "http://127.0.0.1:8123/v1"


def main() -> None:
    """Answer the conversation that the first argument is."""
    conversation = Conversation(**json.loads(sys.argv[1]))
    desk = answer(conversation, recorder=forkpoint.recorder, base_url=forkpoint.base_url(PROVIDER, _ADDRESS))
    print(desk.answer)  # noqa: T201 - the program's output
    if desk.problem:
        sys.exit(desk.problem)


if __name__ == "__main__":
    main()
