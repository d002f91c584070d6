"""Resolver chain: decides the label of a call. Pure.

The first resolver that answers a call determines its output, label and reason.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Final

from replay.calls import typed_messages
from replay.calls.reach import explanation
from replay.core.calls import SEVERITY, Answer, CachedAnswer, Call, label_key
from replay.core.environment import ReplayEnvironment
from replay.core.graph import CHECKS, Node
from replay.core.values.output_comparison import References
from replay.core.values.unread import Unread
from replay.core.wording import sentence, step_list
from replay.inputs.placeholders import placeholder
from replay.overrides.policy import Policy
from replay.resolution import lost_recordings, replay_outputs
from replay.resolution.operator_outputs import answer_from_operator, is_recorded_output, operator_output
from replay.resolution.redacted_values import RedactedValues
from replay.resolution.side_effects import blocked_message, suggest
from replay.resolution.tool_matching import Match, similarity
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import Cause, Label, Reason, StepStatus, StepType
from traces.payloads.lost_payloads import describe_losses
from traces.signatures.ignore_rules import NO_RULES, IgnoreRules

Resolver = Callable[[Call], Answer | None]
_KINDS: Final = {StepType.MODEL: "model", StepType.TOOL: "tool", StepType.RETRIEVAL: "retrieval"}


class ResolverChain:
    """Resolver chain of one replay. Duplicate calls are suppressed before it."""

    def __init__(
        self,
        policy: Policy,
        environment: ReplayEnvironment,
        rerun: Resolver = lambda call: None,
        ignoring: IgnoreRules = NO_RULES,
        assumption: Callable[[Node], JSONObject | None] = lambda node: None,
        *,
        explains: bool = True,
    ) -> None:
        self.policy = policy
        self.environment = environment
        self.ignoring = ignoring
        # Explains why a change may reach a step with its recorded input.
        self._assumption = assumption
        # A brief plan shows no explanations.
        self._explains = explains
        # Re-runs the steps inside a call.
        self._rerun = rerun
        # Calls that would go live if their tools were reviewed as safe.
        self.unreviewed_calls: list[Call] = []
        self._redacted_values = RedactedValues()
        self._references = References()

    def resolve(self, call: Call) -> Answer:
        """Resolve a call; the label's key is in the detail. The last resolver always answers."""
        if (stored_answer := self.environment.committed_answer(call.no)) is not None:
            return stored_answer
        for resolver in self._chain(call):
            if (answer := resolver(call)) is not None:
                return _with_explanation(call, answer) if self._explains else answer
        raise AssertionError("the fallback answers every call")

    def resolve_tool(
        self,
        call: Call,
        find_repeated: Callable[[Call], Node | None],
        find_similar: Callable[[Call], Match[Node] | None],
        rerun: Resolver,
        *,
        from_others: bool,
    ) -> Answer:
        """Resolve a tool call without an unused recording: repetition, cache, or policy.

        `from_others` allows answers that other runs or steps gave to the same or a similar call.
        """
        recorded_resolvers: tuple[Resolver, ...] = (
            lambda new_call: self._repeat(find_repeated(new_call)),
            *((self._from_cache,) if from_others else ()),
            lambda new_call: self._from_similar(find_similar(new_call)),
            *((self._similar_elsewhere,) if from_others else ()),
        )
        chain: tuple[Resolver, ...] = (
            *(
                (self._call_live, *recorded_resolvers)
                if self.policy.order == "reexecute"
                else (*recorded_resolvers, self._call_live)
            ),
            self._ask_operator,
            lambda new_call: None if self._is_blocked(new_call.callee) else rerun(new_call),
            self._block,
            self._fallback,
        )
        answer = next(result for resolver in chain if (result := resolver(call)) is not None)
        return _with_explanation(call, answer)

    def _repeat(self, node: Node | None) -> Answer | None:
        """Answer of an equal call of the recording; a failed one may succeed next time, so it is not repeated."""
        if node is None or node.losses or not replay_outputs.may_answer(node):
            return None
        return self._from_equal_call(node, repeated=True)

    def _from_equal_call(self, node: Node, **facts: JSONValue) -> Answer:
        """Answer that was recorded for an equal call at another place of the run."""
        label = max(Label.CACHED, node.reuse_label, key=SEVERITY.__getitem__)
        answer = self._from_recording(node, label=label, reason=Reason.CACHE_SIGNATURE)
        return replace(answer, action="cache", detail={"matched": {"step": node.no, "id": str(node.id), **facts}})

    def _from_similar(self, match: Match[Node] | None) -> Answer | None:
        """Answer of a call that differs in wording; a failed one says nothing about other words."""
        if match is None or match.call.lacks("output") or not replay_outputs.may_answer(match.call):
            return None
        answer = self._from_recording(match.call, label=Label.CACHED, reason=Reason.CACHE_SEMANTIC)
        similarity = round(match.similarity, 4)
        match_detail: JSONObject = {"step": match.call.no, "id": str(match.call.id), "similarity": similarity}
        return replace(answer, action="cache", detail={"matched": match_detail})

    def _chain(self, call: Call) -> Iterator[Resolver]:
        yield self._override
        if self.policy.order == "reexecute":
            yield self._call_live
        yield self._reuse
        yield self._from_cache
        if call.type is StepType.TOOL:
            yield self._reuse_similar
            yield self._similar_elsewhere
        if self.policy.order == "reuse":
            yield self._call_live
        if call.type is StepType.TOOL:
            yield self._ask_operator
            if not self._is_blocked(call.callee):
                yield self._rerun
            yield self._block
        yield self._fallback

    def _override(self, call: Call) -> Answer | None:
        """Override output, unless it equals the recording."""
        override = operator_output(call, self.environment)
        if override is None or (not call.changed and self._is_recorded(call.node, override)):
            return None
        return override

    def _is_recorded(self, node: Node | None, override: Answer) -> bool:
        if node is None or override.status is not node.status:
            return False
        return is_recorded_output(node, override.output, self.environment, self._references)

    def _reuse(self, call: Call) -> Answer | None:
        node = call.node
        if call.changed or node is None:
            return None
        if node.losses:
            return self._reuse_unverified(node)
        if (assumption := self._assumption(node)) is not None:
            answer = self._from_recording(node, label=Label.SIMULATED, reason=Reason.ASSUMED_UNAFFECTED)
            return replace(answer, action="simulate", detail=assumption, note=explanation(assumption))
        if call.is_moved:
            return self._from_equal_call(node)
        answer = self._from_recording(node, label=node.reuse_label, reason=Reason.SOURCE_OUTPUT_REUSED)
        return answer if node.replay_output is None else replay_outputs.with_origin(answer, node.replay_output)

    def _reuse_unverified(self, node: Node) -> Answer | None:
        """Recorded output of a step whose request is unreadable."""
        if node.lacks("output") or lost_recordings.are_refused(self.policy):
            return None
        answer = self._from_recording(node, label=Label.SIMULATED, reason=Reason.SOURCE_OUTPUT_UNVERIFIED)
        return replace(answer, action="simulate", note=lost_recordings.note(node.losses))

    def _reuse_similar(self, call: Call) -> Answer | None:
        """Recorded answer of a tool call whose arguments changed only in wording."""
        node = call.node
        if node is None or not node.input_ref or node.losses or call.unknown_producers:
            return None
        recorded_arguments, arguments = self.environment.payload(node.input_ref), call.input
        values = [self.ignoring.reduce(node.type, node.callee, value) for value in (recorded_arguments, arguments)]
        score = similarity(values[0], values[1], node.callee)
        return (
            self._from_similar(Match(call=node, similarity=score)) if score >= self.policy.semantic_threshold else None
        )

    def _similar_elsewhere(self, call: Call) -> Answer | None:
        """Answer to a similar call in any run of the app."""
        if not call.complete:
            return None
        hit = self.environment.similar(call, self.policy.semantic_threshold)
        return None if hit is None else from_cache(hit, Reason.CACHE_SEMANTIC)

    def _from_recording(self, node: Node, *, label: Label, reason: Reason) -> Answer:
        return Answer(
            action="reuse",
            label=label,
            reason=reason,
            source=node,
            output=self._recorded_output(node),
            output_ref=node.output_ref,
            status=node.status,
            tokens_in=node.tokens_in,
            tokens_out=node.tokens_out,
            tokens_cached=node.tokens_cached,
            duration_ms=node.duration_ms,
        )

    def _recorded_output(self, node: Node) -> JSONValue | Unread:
        """Output of a recording; a replay reads and verifies it, a plan only where it needs it."""
        if not node.output_ref:
            return None
        if self.environment.planning:
            return Unread(self.environment.payload, node.output_ref)
        return self.environment.payload(node.output_ref)

    def _from_cache(self, call: Call) -> Answer | None:
        if not call.signature or not call.complete:
            return None
        exclude = () if call.node is None else (call.node.id,)
        hit = self.environment.cached(call.reduced_signature or call.signature, exclude=exclude)
        if hit is None or self._redacted_values.hides_content(call.input):
            return None
        return from_cache(hit, Reason.CACHE_SIGNATURE)

    def _call_live(self, call: Call) -> Answer | None:
        """Call a provider if the policy allows live calls of this kind."""
        kind = _KINDS.get(call.type)
        if kind not in self.policy.allow or not call.complete or self._redacted_values.reason(call.type, call.input):
            return None
        if kind == "tool":
            return self._live_tool(call)
        if kind == "retrieval":
            serving = self.environment.retriever(call)
            return self.environment.live_retrieval(call, serving) if serving.name else None
        provider = self.environment.provider(call.provider, call.model, call.override_provider)
        if provider is None:
            return None
        return self._redacted_values.with_placeholders(self.environment.live(call, provider), call.input)

    def _live_tool(self, call: Call) -> Answer | None:
        """Run a tool if the policy allows it and it is reviewed as safe."""
        if self._prohibition(call.callee):
            return None
        review = self.environment.tool(call.callee)
        if review.safe is None:
            self.unreviewed_calls.append(call)
        if not (review.safe and review.executor):
            return None
        answer = self.environment.live_tool(call, review.executor)
        waits = answer is not None and self.environment.planning and self.policy.tools.asks(call.callee)
        return replace(answer, note=f"{answer.note}, after your approval") if answer is not None and waits else answer

    def is_listed(self, tool: str) -> bool:
        """True if the policy denies a tool's new calls or asks about them first."""
        return self._is_blocked(tool) or self.policy.tools.asks(tool)

    def _is_blocked(self, tool: str) -> bool:
        return _any_glob(self.policy.tools.block, tool)

    def _prohibition(self, tool: str) -> str:
        """Why the policy's lists forbid a tool; empty if they allow it."""
        rules = self.policy.tools
        if self._is_blocked(tool):
            return "on the blocklist"
        return "not on the allowlist" if rules.allow and not _any_glob(rules.allow, tool) else ""

    def _ask_operator(self, call: Call) -> Answer | None:
        if not self.policy.tools.asks(call.callee):
            return None
        reply = self.environment.ask(call)
        if reply is None:
            note = "The operator will be asked for this tool's answer"
            return Answer(
                action="simulate",
                label=Label.SIMULATED,
                reason=Reason.OPERATOR_OVERRIDE,
                is_known=False,
                note=note,
                output=placeholder(call.type, note),
            )
        return answer_from_operator(reply)

    def _block(self, call: Call) -> Answer | None:
        """Deny a blocklisted call; answer a tool that is not reviewed as safe with a message."""
        is_listed = self._is_blocked(call.callee)
        safe = self.environment.tool(call.callee).safe
        if safe and not is_listed:
            return None
        reason = "on the blocklist" if is_listed else "reviewed as a side effect"
        if not is_listed and safe is None:
            reason = f"not reviewed ({suggest(call.callee).reason})"
        return Answer(
            action="simulate",
            label=Label.SIMULATED,
            reason=Reason.SIDE_EFFECT_BLOCKED,
            output=blocked_message(call.callee),
            status=StepStatus.DENIED if is_listed else StepStatus.OK,
            note=f"Tool “{call.callee}” is {reason}",
            detail={"blocked": reason},
        )

    def _fallback(self, call: Call) -> Answer:
        note = self._reason_for_fallback(call)
        if self.policy.fallback == "fail":
            return Answer(
                action="blocked",
                label=None,
                reason=None,
                is_known=False,
                note=sentence(note),
                output=placeholder(call.type, note),
            )
        return Answer(
            action="simulate",
            label=Label.SIMULATED,
            reason=Reason.POLICY_FALLBACK,
            is_known=False,
            note=sentence(note),
            output=placeholder(call.type, note),
            status=StepStatus.UNVERIFIED if call.type in CHECKS else StepStatus.OK,
        )

    def _reason_for_fallback(self, call: Call) -> str:
        if not call.changed and call.node is not None and call.node.losses:
            return describe_losses(call.node.losses)
        if call.unknown_producers:
            return f"part of its input depends on {step_list(call.unknown_producers)}, and its new value is unknown"
        if not call.complete:
            return "the recording does not contain this step's input"
        if _KINDS.get(call.type) in self.policy.allow and (
            reason := self._redacted_values.reason(call.type, call.input)
        ):
            return reason
        if call.type is StepType.MODEL and "model" not in self.policy.allow:
            return "the policy allows no live model calls"
        if call.type is StepType.MODEL:
            return f"no configured provider serves {call.model or 'this model'}"
        if call.type is StepType.TOOL:
            return f"no recorded or cached answer to this tool call, and {self._why_not_live(call.callee)}"
        if call.type is StepType.RETRIEVAL:
            is_allowed = "retrieval" in self.policy.allow
            reason = self.environment.retriever(call).reason if is_allowed else "the policy allows no live retrieval"
            return f"no recorded or cached answer to this query, and {reason}"
        return f"a {call.type} step cannot be computed from a changed input"

    def _why_not_live(self, tool: str) -> str:
        """Why a safe tool does not run."""
        if "tool" not in self.policy.allow:
            return "the policy allows no live tool calls"
        if prohibition := self._prohibition(tool):
            return f"it is {prohibition}"
        return "nothing is configured to run it"


def from_cache(hit: CachedAnswer, reason: Reason) -> Answer:
    return Answer(
        action="cache",
        label=Label.CACHED,
        reason=reason,
        output=hit.output,
        output_ref=hit.output_ref,
        status=hit.status,
        detail={"matched": hit.location},
        tokens_in=hit.tokens_in,
        tokens_out=hit.tokens_out,
        tokens_cached=hit.tokens_cached,
        cost_usd=hit.cost_usd,
    )


def _with_explanation(call: Call, answer: Answer) -> Answer:
    """Add to an answer its label's key, why it is not exact, and replies to changed answers."""
    detail = {**label_key(), **_cause_detail(call, answer)}
    if not call.replies.count or not call.changed or answer.reason is Reason.OPERATOR_OVERRIDE:
        return answer.with_detail({**detail, **answer.detail})
    note = ". ".join(filter(None, (answer.note, typed_messages.note(call.replies))))
    return answer.with_detail({**detail, **typed_messages.detail(call.replies), **answer.detail}, note=note)


def _cause_detail(call: Call, answer: Answer) -> JSONObject:
    """Why a step is not exact: its call differs, or its recording is incomplete."""
    if answer.label is Label.EXACT or answer.is_reused:
        return {}
    if call.unknown_producers:
        return {"why": str(Cause.INPUT_UNKNOWN), "underived": [*call.unknown_producers]}
    if not call.complete or (call.node is not None and not call.node.input_ref and not call.node.output_ref):
        return {"why": str(Cause.ARTIFACT_MISSING)}
    if not call.changed and call.node is not None and call.node.losses:
        return lost_recordings.cause(call.node.losses)
    if call.changed and call.node is not None:
        return {"why": str(Cause.SIGNATURE_MISMATCH), "differs": list(call.differs)}
    return {}


def _any_glob(patterns: list[str], name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
