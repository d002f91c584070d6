"""Who&When: failed conversations among agents, annotated with the agent and message that caused the failure."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from traces.core.json_access import as_object, as_text, first_member, has_list, other_members
from traces.core.json_types import JSONObject
from traces.core.recorded_run import RecordedJudgement, RecordedRun
from traces.core.vocabulary import JudgementKind
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import judgement
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.files.json_reader import require_list
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source
from traces.importers.formats.teams.speakers import Team, Utterance, Voice, build_steps, classify_speaker, join_lines

FORMAT: Final = "who-and-when"
_ROLES: Final = frozenset({"assistant", "user", "system", "tool", "human"})
_NOT_METADATA: Final = frozenset({"history", "system_prompt"})
_MESSAGE_FIELDS: Final = frozenset({"role", "name", "content"})


def sniff(sample: Sample) -> float:
    """Return the confidence that the file contains Who&When conversations."""
    return 1.0 if any(_is_annotated(body) for body in sample.objects) else 0.0


def parse(source: Source) -> Iterator[RecordedRun]:
    """Return one run per conversation."""
    return (_run(body, location) for body, location in source.entries())


def _is_annotated(body: JSONObject) -> bool:
    return has_list(body, "history") and not body.keys().isdisjoint({"mistake_agent", "mistake_step"})


def _run(body: JSONObject, location: str) -> RecordedRun:
    history = [as_object(message) for message in require_list(body.get("history"), f"{location}/history")]
    prompts = {name: as_text(prompt) for name, prompt in as_object(body.get("system_prompt")).items()}
    model = as_text(first_member(body, "model", "llm_name"))
    utterances = [_utterance(message, f"{location}/history/{index}") for index, message in enumerate(history)]
    team = Team(
        name="team",
        models={utterance.speaker: model for utterance in utterances} if model else {},
        instructions=prompts,
        task=as_text(body.get("question"))
        if not any(utterance.voice is Voice.USER for utterance in utterances)
        else "",
    )
    question = as_text(first_member(body, "question_ID", "question_id", "id"))
    # Both parts of the data set use questions of the same benchmark.
    external_id = "-".join(part for part in (question, content_id([*history], location)) if part)
    return build_run(
        RunFacts(
            external_id=external_id,
            app=FORMAT,
            format=FORMAT,
            name=as_text(body.get("question")),
            metadata={
                **{key: value for key, value in body.items() if key not in _NOT_METADATA},
                "other_prompts": _other_prompts(prompts, utterances),
            },
            tags=[f"task:{question}"] if question else [],
            judgements=_judgements(body),
        ),
        build_steps(utterances, team),
        location=location,
    )


def _other_prompts(prompts: Mapping[str, str], utterances: Iterable[Utterance]) -> JSONObject:
    """Return the instructions of agents that said nothing."""
    speakers = {utterance.speaker for utterance in utterances}
    return {name: prompt for name, prompt in prompts.items() if prompt and name not in speakers}


def _utterance(message: JSONObject, location: str) -> Utterance:
    """Convert a message; the hand-crafted part names the speaker in `role`, with a remark in parentheses."""
    role, name = as_text(message.get("role")), as_text(message.get("name"))
    speaker, remark = split_remark(name or role)
    speaker = name or speaker
    content = join_lines(message.get("content"))
    voice = Voice.CONTEXT if role == "system" else classify_speaker(speaker, content)
    attributes: JSONObject = {"role": role} if role not in _ROLES and role != speaker else {}
    return Utterance(
        speaker=speaker,
        content=content,
        location=location,
        voice=voice,
        attributes={
            **other_members(message, _MESSAGE_FIELDS),
            **attributes,
            **({"remark": remark} if remark is not None else {}),
        },
    )


def split_remark(label: str) -> tuple[str, str | None]:
    """Return a speaker, and the remark in parentheses at the end of the label: `Ann (thought)`."""
    text = label.rstrip()
    start = text.find("(", text.rfind("\n") + 1)
    if start < 0 or not text.endswith(")"):
        return label, None
    return text[:start].rstrip(), text[start + 1 : -1]


def _judgements(body: JSONObject) -> Iterator[RecordedJudgement]:
    verdict = first_member(body, "is_correct", "is_corrected")
    if isinstance(verdict, bool):
        yield judgement("is_correct", verdict)
    agent, reason = as_text(body.get("mistake_agent")), as_text(body.get("mistake_reason"))
    number = as_text(body.get("mistake_step")).strip()
    if agent or number:
        step = f"msg-{int(number) + 1}" if number.isascii() and number.isdigit() and len(number) < 7 else None
        comment = ": ".join(part for part in (agent, reason) if part)
        yield RecordedJudgement(name="mistake", kind=JudgementKind.FAIL, text=comment, step=step)
