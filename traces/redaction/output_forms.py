"""What the SDK records of an output beside its JSON. Pure.

It may contain the text of an object whose fields were redacted. So it is not stored where the output is redacted, and a
rerun then knows that it cannot restore the output.
"""

from typing import Final

from forkpoint.vocabulary import OUTPUT_FORM
from traces.core.json_types import JSONObject

_UNKNOWN: Final[JSONObject] = {"type": "opaque"}


def check_form(fields: JSONObject, source: JSONObject, *, is_output_redacted: bool) -> JSONObject:
    """Return the attributes of a step, or the payload of its event, without a form that is redacted or may have to be.

    `source` are the fields before they were redacted.
    """
    if OUTPUT_FORM not in source or not (is_output_redacted or fields.get(OUTPUT_FORM) != source[OUTPUT_FORM]):
        return fields
    return {**fields, OUTPUT_FORM: _UNKNOWN}
