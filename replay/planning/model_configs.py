"""Model configurations of a recording and a plan, and the determinism score. Pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress

import orjson

from diffing.content.determinism import ModelConfig
from replay.core.applied_profile import AppliedProfile
from replay.core.graph import Graph, Node
from replay.core.plan import Determinism
from replay.overrides.policy import Policy
from replay.overrides.request_edits import apply_model_settings, edited_names, with_system
from replay.planning.determinism import assess
from replay.planning.plan_environment import PlanEnvironment
from traces.core.json_access import as_object
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepType
from traces.payloads.messages import ModelRequest
from traces.payloads.parts import MissingPart


def determinism_of(
    graph: Graph,
    profile: AppliedProfile,
    policy: Policy,
    environment: PlanEnvironment,
    *,
    reused_numbers: Collection[int] = frozenset(),
) -> Determinism:
    """Compare recorded and planned configurations of the edited model steps.

    `reused_numbers` are those of steps whose recorded outputs are reused: their overrides equal what was recorded.
    """
    models = [node for node in graph.nodes if node.type is StepType.MODEL]
    edited_models = [node for node in models if profile.edits_of(node).model]
    pairs = []
    for node in _distinct_steps(edited_models or models[:1], profile, environment):
        if (pair := _configurations(node, profile, environment)) is not None:
            pairs.append(pair)
    return assess(
        pairs,
        changed=_other_changes(graph, profile, environment, reused_numbers),
        threshold=policy.determinism_threshold,
    )


def _distinct_steps(nodes: Sequence[Node], profile: AppliedProfile, environment: PlanEnvironment) -> Iterable[Node]:
    """One step of each group with equal configuration and edits."""
    groups = _configuration_groups(nodes, environment)
    step_by_key: dict[tuple[int, int], Node] = {}
    for node in nodes:
        # Steps with the same edits share one object.
        step_by_key.setdefault((groups[node.no], id(profile.edits_of(node))), node)
    return step_by_key.values()


def _configuration_groups(nodes: Sequence[Node], environment: PlanEnvironment) -> Mapping[int, int]:
    """Number of each step's group of equal provider, model and parameters; computed once per source."""
    sources = environment.sources
    new_nodes = [node for node in nodes if node.no not in sources.configuration_groups]
    _read_parameters({node.input_ref for node in new_nodes if node.input_ref}, environment)
    for node in new_nodes:
        key = node.provider, node.model, sources.parameters.get(node.input_ref)
        group = sources.configurations.setdefault(key, len(sources.configurations))
        sources.configuration_groups[node.no] = group
    return sources.configuration_groups


def _read_parameters(refs: Collection[str], environment: PlanEnvironment) -> None:
    """Read the parameters of inputs, without messages, in comparable form."""
    parameters = environment.sources.parameters
    unknown = [ref for ref in refs if ref not in parameters]
    values = (
        _read_payloads(unknown, environment)
        if environment.sources.roots is None
        else environment.sources.roots(unknown)
    )
    for ref in unknown:
        input = values.get(ref)
        settings = {name: item for name, item in as_object(input).items() if name != "messages"}
        parameters[ref] = orjson.dumps(settings, option=orjson.OPT_SORT_KEYS)


def _read_payloads(refs: Iterable[str], environment: PlanEnvironment) -> dict[str, JSONValue]:
    values: dict[str, JSONValue] = {}
    for ref in refs:
        with suppress(MissingPart):
            values[ref] = environment.payload(ref)
    return values


def _configurations(
    node: Node, profile: AppliedProfile, environment: PlanEnvironment
) -> tuple[ModelConfig, ModelConfig] | None:
    try:
        value = environment.payload(node.input_ref) if node.input_ref else None
    except MissingPart:
        return None
    input: JSONObject = as_object(value)
    edits = profile.edits_of(node).model
    after = apply_model_settings(input, edits)
    provider, model = str(edits.get("provider", node.provider)), str(edits.get("model", node.model))
    return (
        ModelConfig(provider=node.provider, model=node.model, parameters=_parameters(input)),
        ModelConfig(provider=provider, model=model, parameters=_parameters(after)),
    )


def _parameters(input: JSONObject) -> JSONObject:
    parameters = input.get("parameters")
    return as_object(parameters)


def _other_changes(
    graph: Graph, profile: AppliedProfile, environment: PlanEnvironment, reused_numbers: Collection[int]
) -> list[str]:
    """Other changes of the profile; a prompt's text or template is critical."""
    changes: dict[str, None] = {}
    edits_by_no = {no: edits for no, edits in profile.by_step.items() if no not in reused_numbers}
    for edits in {id(edits): edits for edits in edits_by_no.values()}.values():
        for name, is_set in (
            ("prompt", {"template", "template_id", "version"} & edits.prompt.keys()),
            ("variables", "variables" in edits.prompt),
            ("messages", edits.messages),
            ("retrieval", edits.retrieval),
            ("tools", {"tools"} & {*edited_names(edits.model)}),
            ("tool arguments", edits.arguments),
            ("tool outputs", edits.tool),
            ("what-if outputs", edits.output),
        ):
            if is_set:
                changes[name] = None
    systems = (
        (graph.by_no[no], edits.prompt["system"]) for no, edits in edits_by_no.items() if "system" in edits.prompt
    )
    if any(_changes_system(node, str(text), environment) for node, text in systems):
        changes["prompt"] = None
    return list(changes)


def _changes_system(node: Node, text: str, environment: PlanEnvironment) -> bool:
    """True if a system prompt is not the recorded one. The rest of the request may differ for other reasons."""
    try:
        messages = [*ModelRequest(environment.payload(node.input_ref) if node.input_ref else None).messages]
    except MissingPart:
        return True
    return with_system(messages, text) != messages
