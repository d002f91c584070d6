"""The socket's messages, in the same OpenAPI file as the REST interface: the browser's types come from one place."""

from typing import Any

from cockpit.schemas import LiveMessage

# What the published schema of override profiles says about a match beyond its fields: clients' types cannot say it.
_RULES = ("anyOf", "if", "then")


def add_live_messages(result: dict[str, Any], **context: Any) -> dict[str, Any]:
    """A postprocessing hook of drf-spectacular."""
    schema = LiveMessage.model_json_schema(ref_template="#/components/schemas/{model}", mode="serialization")
    components = result["components"].setdefault("schemas", {})
    for name, part in schema.pop("$defs").items():
        components.setdefault(name, part)
    components["LiveMessage"] = schema
    for rule in _RULES:
        components["Match"].pop(rule, None)
    result["components"]["schemas"] = dict(sorted(components.items()))
    return result
