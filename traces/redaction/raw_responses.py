"""Raw responses of providers beside the values that were read from them. Pure.

A stream gives a value in pieces, which no detector recognizes. So where anything of a call is redacted, its raw
response is not stored at all.
"""

from typing import Final

from traces.core.json_types import JSONObject

# The attribute of a model step, and the field of its event.
RAW_RESPONSE: Final = "http_response"


def drop_raw_response(fields: JSONObject) -> JSONObject:
    """Return the attributes of a step or the payload of its event without the raw response."""
    return {name: value for name, value in fields.items() if name != RAW_RESPONSE}
