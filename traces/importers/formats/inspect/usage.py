"""Token counts of Inspect, under the names of Anthropic's API, whose input excludes cached tokens, too."""

from typing import Final

from traces.core.json_access import as_object
from traces.core.json_types import JSONObject

_NAMES: Final = {
    "input_tokens_cache_read": "cache_read_input_tokens",
    "input_tokens_cache_write": "cache_creation_input_tokens",
}


def read_usage(output: JSONObject) -> JSONObject:
    """Return the counts of an output without unknown ones."""
    usage: JSONObject = {
        _NAMES.get(name, name): count for name, count in as_object(output.get("usage")).items() if count is not None
    }
    if any(usage.get(name) for name in _NAMES.values()):
        return usage
    return {name: count for name, count in usage.items() if name not in _NAMES.values()}
