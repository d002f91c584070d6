"""Requests to a model by OpenAI's chat completions. Client libraries take seconds to start; the desk takes none."""

import json
import urllib.request
from typing import Any, Final
from urllib.error import HTTPError

# A model on this machine, or the gateway in front of it: no proxy is between.
_OPENER: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))
_TIMEOUT_S: Final = 120.0


class ModelError(Exception):
    """The model's server refused a request."""


def complete(base_url: str, body: dict[str, Any]) -> dict[str, Any]:
    """Return the response to a request; raise `ModelError`."""
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{base_url}/chat/completions", json.dumps(body).encode(), headers)
    try:
        with _OPENER.open(request, timeout=_TIMEOUT_S) as response:
            answer: dict[str, Any] = json.load(response)
    except HTTPError as error:
        with error:
            raise ModelError(f"{error.code} {error.read().decode('utf-8', 'replace')[:1_000]}") from error
    return answer
