"""Probe runner for two recordings of a program. Tools are unavailable; models are called where allowed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from typing import Final

from diffing.schemas.evidence import EvidenceQuestion, ProbeOutcome
from diffing.sentences.atoms.titles import request_of_step
from diffing.sequences.word_hunks import hunks
from replay.core.applied_profile import apply_profile
from replay.core.calls import Answer, Call, ToolReview
from replay.core.context import ReplayContext
from replay.core.graph import Node
from replay.engine.replayer import Replayer
from replay.live.matching_process import first_error_isolated
from replay.overrides.policy import Policy
from replay.proofs.changes.atoms import Absent, Change
from replay.proofs.changes.code_origins import is_code_different, is_code_equal
from replay.proofs.core.types import Allowance, Case, ProbeResult, ProbeSpec
from replay.proofs.counterfactual import outcomes
from replay.proofs.counterfactual.copied_values import with_links
from replay.proofs.counterfactual.derivations import OtherState
from replay.proofs.counterfactual.outcomes import Result
from replay.proofs.counterfactual.replay_monitor import MissingAnswer, ReplayMonitor, UnfaithfulReplay
from tests.bench.attribution.code_edits import CodeEdits, is_answer_of, is_input_of, is_step_of
from tests.bench.attribution.lab import Bench
from tests.bench.attribution.mechanisms import settings as access
from tests.bench.attribution.mechanisms.running import Model
from tests.bench.attribution.mechanisms.settings import Settings
from tests.bench.attribution.programs.chance import with_chance
from tests.bench.attribution.programs.rewording import with_rewording
from tests.bench.attribution.programs.shapes import Program
from tests.bench.attribution.replays import Source
from tests.bench.attribution.truth import Injection, Truth
from tests.bench.attribution.unaided_lab import CoupledEngine, UnaidedLab
from traces.core.json_access import as_object, as_objects
from traces.core.json_types import JSONObject
from traces.core.vocabulary import StepType

RECORDED_POLICY: Final = Policy(allow=["model"], semantic_threshold=1.0)
REPEAT_POLICY: Final = Policy(allow=["model"], semantic_threshold=1.0, order="reexecute")
# A recording, and an override whose step number refers to it.
OverrideSource = tuple[Source, JSONObject]


@dataclass
class ProgramBench(Bench):
    """Both recordings of a case. A model that rewords phrases each of them differently.

    Of a model that decides at random, the recordings are repeated until they show the case: the usual answers if there
    is a cause, otherwise two different answers, one of them the usual one.
    """

    has_code_version: bool = False

    def __post_init__(self) -> None:
        program, before, after = self.program, self.settings(()), self.settings(self.case.by_id)
        for attempt in count():
            suffix = f" {attempt}" if attempt else ""
            self.base, self.candidate = (
                Source.record(
                    program.program, settings, self.model(f"{side}{suffix}"), has_code_version=self.has_code_version
                )
                for side, settings in (("base", before), ("candidate", after))
            )
            if program.chance is None or self._shows_case():
                break

    @property
    def program(self) -> Program:
        assert isinstance(self.case.pipeline, Program)
        return self.case.pipeline

    def model(self, sample_key: str) -> Model:
        number = f"{self.case.number} {sample_key}"
        model = self.program.model
        if self.program.chance:
            model = with_chance(model, self.program.chance, number)
        return with_rewording(model, number) if self.program.rewords else model

    def _shows_case(self) -> bool:
        answers, truth = (self.base.answer, self.candidate.answer), self.case.truth
        if truth.sets:
            return answers == (truth.base, truth.full)
        # Two unusual answers may differ by a change that shows only in them.
        return answers[0] != answers[1] and truth.base in answers


@dataclass
class ProgramEngine(CoupledEngine):
    """Engine that calls models, if allowed, for answers that neither recording has. It never calls tools."""

    max_calls: int | None = None

    def tool(self, name: str) -> ToolReview:
        # Lets the resolver chain reach its end, where the missing answer is reported.
        return ToolReview(safe=True)

    def live(self, call: Call, provider: str) -> Answer:
        if self.max_calls is not None and self.live_models >= self.max_calls:
            raise MissingAnswer("live call limit reached", call)
        return super().live(call, provider)

    def live_tool(self, call: Call, executor: str) -> Answer | None:
        raise MissingAnswer("no executor for the tool", call)


@dataclass
class ProgramLab(UnaidedLab):
    """The changes that the product finds between the two recordings, and the true changes behind them."""

    bench: ProgramBench
    _change_ids: dict[str, frozenset[str]] = field(default_factory=dict)

    @cached_property
    def question(self) -> EvidenceQuestion:
        results = [Result(answer=side.answer) for side in (self.bench.base, self.bench.candidate)]
        return outcomes.separating(outcomes.question("answer", []), *results)

    def case(self) -> Case:
        values = [self._value(side.answer) for side in (self.bench.base, self.bench.candidate)]
        kind = self.question.kind
        return replace(
            super().case(),
            question=self.question,
            differs=values[0] != values[1],
            is_sampled=self.bench.program.is_sampled,
            other_code=is_code_different(self.examination),
            same_code=is_code_equal(self.examination),
            coarser=outcomes.coarser(kind),
            values={
                "base": outcomes.values(kind, Result(answer=self.bench.base.answer)),
                "candidate": outcomes.values(kind, Result(answer=self.bench.candidate.answer)),
            },
        )

    def _probe(self, ask: ProbeSpec, allowance: Allowance) -> ProbeResult:
        source = self.bench.base if ask.side == "base" else self.bench.candidate
        profile = self._clamp_profile(ask.clamp) if ask.clamp else self.changes.profile(ask.atoms, ask.side)
        self.replays += 1
        applied_profile = apply_profile(profile, source.graph)
        if applied_profile.refusals:
            return ProbeResult(outcome=ProbeOutcome.FAILED, missing=applied_profile.refusals[0].detail)
        model = self.bench.model(f"{ask.side} {sorted(ask.atoms)} {ask.repeat}" if ask.repeat else "probe")
        engine = ProgramEngine(
            source,
            source.settings,
            model,
            coupling=self._coupling(source),
            outputs=self._outputs,
            payloads=self._payloads,
            max_calls=allowance.live_calls,
        )
        state, graph = self._derivations.state(ask.side), with_links(self._graph(source), self._copies.links[ask.side])
        monitor = ReplayMonitor(graph=graph, coupling=engine.coupling, fresh=bool(ask.repeat), state=state)
        policy = REPEAT_POLICY if ask.repeat else RECORDED_POLICY
        context = ReplayContext(graph=graph, profile=applied_profile, policy=policy, environment=engine)
        try:
            for event in Replayer(context).run():
                monitor.observe(event, source.payloads.__getitem__)
            answer = monitor.result(source.payloads.__getitem__).answer
        except (MissingAnswer, UnfaithfulReplay) as error:
            strays = state.strays(self._payloads.__getitem__)
            return ProbeResult(
                outcome=ProbeOutcome.NEEDS_LIVE, missing=str(error), strays=strays, live_calls=engine.live_models
            )
        except OtherState as error:
            raise OtherState(is_traced=error.is_traced, strays=state.strays(self._payloads.__getitem__)) from error
        self._external_calls = monitor.external_calls
        assumed_steps = state.open_assumptions(monitor.assumed_steps)
        return ProbeResult(
            outcome=self._outcome(answer),
            value=self._value(answer),
            values=outcomes.values(self.question.kind, Result(answer=answer)),
            summary=answer,
            executed_steps=monitor.executed_steps,
            cached_calls=monitor.cached_answers,
            borrowed_answers=monitor.borrowed_answers,
            assumed_steps=assumed_steps,
            derived=state.assumes_code,
            live_calls=engine.live_models,
        )

    def _outcome(self, answer: str) -> ProbeOutcome:
        base, candidate = (self._value(side.answer) for side in (self.bench.base, self.bench.candidate))
        return outcomes.classify(self._value(answer), base=base, candidate=candidate)

    def _value(self, answer: str) -> str:
        return outcomes.value(self.question, Result(answer=answer), first_error_isolated)

    # True changes

    @cached_property
    def edits_of(self) -> Mapping[str, str]:
        """Map the id of each found change to the true change behind it. Effects have none."""
        own = {id: min(paths) for paths in self._edit_groups for path in paths for id in self._changes_of(path)}
        return {**own, **self._relayed_edits}

    @cached_property
    def _code_edits(self) -> CodeEdits:
        return CodeEdits(case=self.bench.case, program=self.bench.program)

    @cached_property
    def _relayed_edits(self) -> Mapping[str, str]:
        """Map the id of each relay to the true change that shows in it and nowhere else, if there is only one."""
        groups = [paths for paths in self._edit_groups if not any(map(self._changes_of, paths))]
        relays = [(id, change) for id, change in self.changes.changes.items() if change.atom.is_relay]
        names_by_relay = {
            id: [min(paths) for paths in groups if any(self._makes(change, path) for path in paths)]
            for id, change in relays
        }
        return {id: name for id, names in names_by_relay.items() if (name := self._of_one_program(names))}

    def _of_one_program(self, names: Sequence[str]) -> str:
        """The true change behind a relay: the only one, or if all are of the code, one that is a cause if there is."""
        if len(names) > 1 and not all(name.startswith("code.") for name in names):
            return ""
        causes = frozenset[str]().union(*self.true_changes.sets)
        return next((name for name in names if name in causes), names[0] if names else "")

    @cached_property
    def true_changes(self) -> Truth:
        """Return the outcomes of all combinations of the true changes."""
        hunks = {path: value for injection in self.bench.case.injections for path, value in injection.hunks}
        acting = {
            min(paths): Injection(
                id=min(paths), category="prompt", hunks=tuple((path, hunks[path]) for path in sorted(paths)), main=0
            )
            for paths in self._edit_groups
        }
        return Truth(pipeline=self.bench.program, acting=acting)

    def is_recorded(self, name: str) -> bool:
        """Return whether a true change shows in the recordings: both sides call something it acts on."""
        paths = next(paths for paths in self._edit_groups if name in paths)
        sides = (self.bench.base, self.bench.candidate)
        return any(all(_acts_on(path, side) for side in sides) for path in paths)

    @cached_property
    def _edit_groups(self) -> list[set[str]]:
        """Group edit paths that belong to one injection, or that one found change sets."""
        groups: list[set[str]] = []
        for injection in self.bench.case.injections:
            paths = {path for path, _ in injection.hunks}
            ids = {id for path in paths for id in self._changes_of(path)}
            for group in [group for group in groups if any(self._changes_of(path) & ids for path in group)]:
                groups.remove(group)
                paths |= group
            groups.append(paths)
        return groups

    def _changes_of(self, path: str) -> frozenset[str]:
        """Return the ids of the found changes that set this setting."""
        if path not in self._change_ids:
            changes = self.changes.changes.items()
            ids = {id for id, change in changes if not change.atom.is_relay and self._makes(change, path)}
            if path.startswith("code."):
                # Code passes on what others wrote, and a change of that is theirs. But it makes its calls itself.
                paths = (path for injection in self.bench.case.injections for path, _ in injection.hunks)
                others = set[str]().union(*(self._changes_of(path) for path in paths if not path.startswith("code.")))
                ids -= {id for id in others if self.changes.changes[id].atom.category != "structure"}
            else:
                ids -= {id for id in ids if self._is_made_by_code(self.changes.changes[id], path)}
            self._change_ids[path] = frozenset(ids)
        return self._change_ids[path]

    def _is_made_by_code(self, change: Change, path: str) -> bool:
        """Return whether an edit of code makes a difference in which the text of this edit shows."""
        numbers = (as_object(slot.match).get("step") for slot in change.on_base)
        calls = [node.no for node in self.bench.base.graph.nodes if node.type is not StepType.AGENT]
        places = [calls.index(number) for number in numbers if isinstance(number, int) and number in calls]
        return any(self._code_edits.takes_over(path, place, change.atom.texts) for place in places)

    def _makes(self, change: Change, path: str) -> bool:
        nodes = self._code_edits.nodes(path)
        is_step = is_step_of(change, nodes.steps) or is_answer_of(change, nodes.inputs) or self._is_asked(change, path)
        return is_step or any(self._sets(*entry, path) for entry in self._entries(change))

    def _is_asked(self, change: Change, path: str) -> bool:
        """Return whether a change is the run's input, or a step of one run only, described by this text of a user."""
        texts = self._texts(path)
        if change.atom.category != "structure" or path.split(".")[0] not in {"user", "turn"}:
            return path.startswith("user.") and is_input_of(change, texts)
        return any(text and request_of_step(text) in change.atom.description for text in texts) and not all(texts)

    def _texts(self, path: str) -> list[str]:
        """The texts of a setting, of either side."""
        return [str(side.settings.get(path) or "") for side in (self.bench.base, self.bench.candidate)]

    def _entries(self, change: Change) -> Iterator[OverrideSource]:
        """Yield the overrides that apply a change, and those that revert it."""
        for source, slots, value, whole in (
            (self.bench.base, change.on_base, change.candidate, change.apply_overrides),
            (self.bench.candidate, change.on_candidate, change.base, change.revert_overrides),
        ):
            yield from ((source, entry) for entry in whole)
            if not isinstance(value, Absent):
                yield from ((source, slot.entry(value)) for slot in slots)

    def _sets(self, source: Source, entry: JSONObject, path: str) -> bool:
        """Return whether an override sets this setting."""
        kind, name, *rest = path.split(".")
        match = entry["match"]
        number = match.get("step") if isinstance(match, dict) else None
        node = source.graph.by_no[number] if isinstance(number, int) else None
        if kind == "tool":
            return _has(entry, "model", "tools")
        if kind == "code" and rest:
            return node is not None and node.name in self._code_edits.nodes(path).inputs and _sets_input(entry)
        if kind == "code":
            return any(edit.get("op") in {"insert", "delete"} for edit in _edits(entry))
        if kind == "search":
            return _has(entry, "retrieval", "top_k")
        if kind in {"user", "turn"}:
            return self._edits_text(entry, lambda settings: str(settings.get(path) or ""), source)
        if kind == "doc":
            return _has(entry, "retrieval", "documents") or (_has_type(node, StepType.RETRIEVAL) and "output" in entry)
        if node is not None and node.name != name:
            return False
        if kind == "prompt":
            system = _has(entry, "prompt", "system")
            return system or self._edits_text(entry, lambda settings: access.system(settings, name), source)
        if kind == "model":
            field = "model" if rest[-1] == "name" else rest[-1]
            return _has(entry, "model", field) or field in str(entry.get("model"))
        return _has_type(node, StepType.TOOL) and bool(entry.keys() & {"tool", "output"})

    def _edits_text(self, entry: JSONObject, text_of: Callable[[Settings], str], source: Source) -> bool:
        """Return whether an edited message contains this text of the settings, as on either side."""
        texts = [text_of(side.settings) for side in (self.bench.base, self.bench.candidate)]
        edits = _edits(entry)
        contents = [str(edit.get("content") or edit.get("message") or "") for edit in edits]
        if any(text in content for text in texts if text for content in contents):
            return True
        # The differing words of a message, and the arguments of a call by code, are parts of one of the texts.
        differences = [words for edit in edits for words in _words_of(edit, self._messages(entry, source))]
        calls = as_object(entry.get("arguments")), as_object(entry.get("retrieval"))
        arguments = [str(value) for call in calls for value in call.values()]
        parts = [*differences, *([argument] for argument in arguments if argument)]
        return any(part and all(sum(word in text for text in texts) == 1 for word in part) for part in parts)

    def _messages(self, entry: JSONObject, source: Source) -> list[JSONObject]:
        """Return the recorded messages of the step that an override names."""
        number = as_object(entry.get("match")).get("step")
        node = source.graph.by_no.get(number) if isinstance(number, int) else None
        return as_objects(as_object(source.payloads.get(node.input_ref)).get("messages")) if node is not None else []


def _sets_input(entry: JSONObject) -> bool:
    """Return whether an override sets what code passes to a step: messages, arguments, or how it searches."""
    return (
        "messages" in entry
        or "arguments" in entry
        or _has(entry, "prompt", "template")
        or _has(entry, "prompt", "variables")
        or ("retrieval" in entry and not _has(entry, "retrieval", "documents"))
    )


def _acts_on(path: str, source: Source) -> bool:
    """Return whether a recording has a step that a setting acts on. User messages show at every model call."""
    kind, name, *rest = path.split(".")
    match kind:
        case "doc" | "search":
            return any(node.type is StepType.RETRIEVAL for node in source.graph.nodes)
        case "prompt" | "model":
            return any(node.name == name for node in source.graph.nodes)
        case "row":
            inputs = (source.payloads[node.input_ref] for node in source.graph.nodes if node.name == name)
            return any(
                isinstance(arguments, dict) and next(iter(arguments.values()), "") == rest[0] for arguments in inputs
            )
        case _:
            return True


def _has(entry: JSONObject, category: str, field: str) -> bool:
    """Return whether an override sets a field within a category."""
    value = entry.get(category)
    return isinstance(value, dict) and field in value


def _words_of(edit: JSONObject, messages: Sequence[JSONObject]) -> list[list[str]]:
    """The words that each passage of an edit sets, or the edited message; those it removes if it sets none."""
    texts = [(str(passage["before"]), str(passage["after"])) for passage in as_objects(edit.get("passages"))]
    index, content = edit.get("index"), edit.get("content")
    if edit.get("op") == "replace" and isinstance(content, str) and isinstance(index, int) and index < len(messages):
        texts.append((str(messages[index].get("content")), content))
    return [[hunk.candidate or hunk.base for hunk in hunks(before, after)] for before, after in texts]


def _has_type(node: Node | None, type: StepType) -> bool:
    return node is not None and node.type is type


def _edits(entry: JSONObject) -> list[JSONObject]:
    edits = entry.get("messages")
    return [edit for edit in edits if isinstance(edit, dict)] if isinstance(edits, list) else []
