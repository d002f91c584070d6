"""An agent whose conversation grows with every call. It prints the milliseconds of each call as JSON.

It ends with 3 if the last answer is wrong.
"""

import http.client
import json
import os
import sys
import time
from urllib.parse import urlsplit

_WRONG_ANSWER = 3
_TEXT = "Damaged goods are refunded within fourteen days. " * 20


def main(calls: int) -> None:
    address = urlsplit(os.environ["OPENAI_BASE_URL"])
    connection = http.client.HTTPConnection(str(address.hostname), int(address.port or 80), timeout=60)
    messages = [{"role": "system", "content": f"You are the order desk. {_TEXT}"}]
    times_ms = []
    for number in range(calls):
        messages.append({"role": "user", "content": f"Question {number}: {_TEXT}"})
        body = json.dumps({"model": "m1", "messages": messages}).encode()
        start = time.perf_counter()
        connection.request("POST", f"{address.path}/chat/completions", body, {"content-type": "application/json"})
        response = connection.getresponse()
        data = response.read()
        times_ms.append((time.perf_counter() - start) * 1000)
        if response.status != 200:
            sys.exit(f"call {number}: {response.status} {data[:500].decode(errors='replace')}")
        messages.append(json.loads(data)["choices"][0]["message"])
    print(json.dumps(times_ms))
    sys.exit(_WRONG_ANSWER if "wrong" in messages[-1]["content"] else 0)


if __name__ == "__main__":
    main(int(sys.argv[1]))
