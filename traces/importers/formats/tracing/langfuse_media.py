"""Media of Langfuse clients: they replace images and files in payloads by references, and upload them separately."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import orjson

from traces.core.json_access import as_list, as_object, as_text
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep

EVENT: Final = "media-create"
_REFERENCE: Final = re.compile(r"@@@langfuseMedia:type=([^|@]*)\|id=([^|@]*)\|source=[^|@]*@@@")


@dataclass(frozen=True, kw_only=True, slots=True)
class Media:
    """An uploaded file; `data` is base64."""

    media_type: str
    data: str


def read_media(segments: Iterable[bytes]) -> dict[str, Media]:
    """Return the files in these segments of events, by id."""
    media: dict[str, Media] = {}
    for segment in segments:
        if EVENT.encode() not in segment:
            continue
        for line in segment.splitlines():
            for event in map(as_object, as_list(as_object(orjson.loads(line)).get("batch"))):
                body = as_object(event.get("body"))
                if event.get("type") == EVENT:
                    file = Media(media_type=as_text(body.get("contentType")), data=as_text(body.get("data")))
                    media[as_text(body.get("id"))] = file
    return media


def restore(run: RecordedRun, media: Mapping[str, Media]) -> RecordedRun:
    """Put the files where the client sent references to them."""
    return replace(run, steps=tuple(_restore_step(step, media) for step in run.steps)) if media else run


def _restore_step(step: RecordedStep, media: Mapping[str, Media]) -> RecordedStep:
    return replace(
        step,
        input=_restore_value(step.input, media),
        output=_restore_value(step.output, media),
        attributes=as_object(_restore_value(step.attributes, media)),
    )


def _restore_value(value: JSONValue, media: Mapping[str, Media], key: str = "") -> JSONValue:
    if isinstance(value, str):
        return _restore_text(value, media, is_data=key == "data") if "@@@langfuseMedia:" in value else value
    if isinstance(value, list):
        return [_restore_value(item, media) for item in value]
    if isinstance(value, dict):
        result: JSONObject = {name: _restore_value(item, media, name) for name, item in value.items()}
        return result
    return value


def _restore_text(text: str, media: Mapping[str, Media], *, is_data: bool) -> str:
    """Replace references in a text. Fields named `data` contain base64, all others a data URI."""

    def content(match: re.Match[str]) -> str:
        file = media.get(match[2])
        if file is None:
            return match[0]
        return file.data if is_data else f"data:{file.media_type};base64,{file.data}"

    return _REFERENCE.sub(content, text)
