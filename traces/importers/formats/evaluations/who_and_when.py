"""Who&When: failed conversations among agents, with the agent and the message that made them fail."""

import re
from collections.abc import Iterator
from typing import Final

from traces.core.json_types import JSONObject
from traces.core.recorded_run import RecordedJudgement, RecordedRun
from traces.core.vocabulary import JudgementKind
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import judgement
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.speakers import Team, Utterance, Voice, build_steps, classify_speaker, join_lines
from traces.importers.files.json_reader import first, obj, require_list, text
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source

FORMAT: Final = "who-and-when"
_ROLES: Final = frozenset({"assistant", "user", "system", "tool", "human"})
_ASIDE: Final = re.compile(r"\s*\((.*)\)\s*$")
_NOT_METADATA: Final = frozenset({"history", "system_prompt"})


def recognises(sample: Sample) -> float:
    """How sure it is that the file holds conversations of Who&When."""
    return 1.0 if any(_is_labelled(each) for each in sample.objects) else 0.0


def parse(source: Source) -> Iterator[RecordedRun]:
    """One run for each conversation."""
    return (_run(body, where) for body, where in source.entries())


def _is_labelled(body: JSONObject) -> bool:
    return isinstance(body.get("history"), list) and not body.keys().isdisjoint({"mistake_agent", "mistake_step"})


def _run(body: JSONObject, where: str) -> RecordedRun:
    history = [obj(each) for each in require_list(body.get("history"), f"{where}/history")]
    prompts = {name: text(prompt) for name, prompt in obj(body.get("system_prompt")).items()}
    model = text(first(body, "model", "llm_name"))
    said = [_utterance(message, f"{where}/history/{at}") for at, message in enumerate(history)]
    team = Team(
        name="team",
        models={each.speaker: model for each in said} if model else {},
        instructions=prompts,
        task=text(body.get("question")) if not any(each.voice is Voice.USER for each in said) else "",
    )
    question = text(first(body, "question_ID", "question_id", "id"))
    # both parts of the data set have questions of the same benchmark
    external_id = "-".join(part for part in (question, content_id([*history], where)) if part)
    return build_run(
        RunFacts(
            external_id=external_id,
            app=FORMAT,
            format=FORMAT,
            name=text(body.get("question")),
            metadata={key: value for key, value in body.items() if key not in _NOT_METADATA},
            tags=[f"task:{question}"] if question else [],
            judgements=_judgements(body),
        ),
        build_steps(said, team),
        location=where,
    )


def _utterance(message: JSONObject, where: str) -> Utterance:
    """A message; the hand-made part of the data set names speakers in `role`, with a remark in brackets."""
    role, name = text(message.get("role")), text(message.get("name"))
    given = name or role
    speaker = name or _ASIDE.sub("", role)
    content = join_lines(message.get("content"))
    voice = Voice.CONTEXT if role == "system" else classify_speaker(speaker, content)
    remark = _ASIDE.search(given)
    attributes: JSONObject = {"role": role} if role not in _ROLES and role != speaker else {}
    return Utterance(
        speaker=speaker,
        content=content,
        location=where,
        voice=voice,
        attributes={**attributes, **({"remark": remark[1]} if remark else {})},
    )


def _judgements(body: JSONObject) -> Iterator[RecordedJudgement]:
    verdict = first(body, "is_correct", "is_corrected")
    if isinstance(verdict, bool):
        yield judgement("is_correct", verdict)
    agent, reason = text(body.get("mistake_agent")), text(body.get("mistake_reason"))
    number = text(body.get("mistake_step")).strip()
    if agent or number:
        step = f"msg-{int(number) + 1}" if number.isascii() and number.isdigit() and len(number) < 7 else None
        words = ": ".join(part for part in (agent, reason) if part)
        yield RecordedJudgement(name="mistake", kind=JudgementKind.FAIL, text=words, step=step)
