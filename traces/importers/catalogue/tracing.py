"""Formats of tracing: spans and events that programs send."""

from typing import Final

from traces.importers import detection
from traces.importers.formats.databases import mastra_store, stores
from traces.importers.formats.evaluations import mlflow
from traces.importers.formats.frameworks import agents_sdk
from traces.importers.formats.gateways import helicone, litellm, portkey, promptlayer
from traces.importers.formats.platforms import (
    bedrock_agents,
    braintrust,
    chainlit,
    datadog,
    galileo,
    honeyhive,
    lunary,
    mastra,
    newrelic,
    opik,
    posthog,
    weave,
)
from traces.importers.formats.replay_tools import kurral, prela
from traces.importers.formats.tracing import forkpoint_events, langfuse, langsmith
from traces.importers.importer import Importer, lines_are_runs
from traces.importers.otlp import spans

TRACING: Final = (
    Importer(
        name="forkpoint",
        title="Forkpoint events",
        sniff=detection.sniff_events,
        parse_together=forkpoint_events.parse,
        keys=forkpoint_events.keys,
        parse_arrivals=forkpoint_events.parse_arrivals,
    ),
    Importer(
        name=mlflow.FORMAT,
        title="MLflow traces",
        sniff=detection.sniff_by_value(mlflow.is_trace),
        parse=mlflow.parse,
        by_line=lines_are_runs,
    ),
    Importer(
        name="kurral",
        title="Kurral artifacts",
        sniff=detection.sniff_kurral,
        parse=kurral.parse,
        by_line=lines_are_runs,
        # An artifact is a run even without requests and calls.
        allows_empty=True,
    ),
    Importer(
        name="prela",
        title="Prela traces",
        sniff=detection.sniff_prela,
        parse_together=prela.parse,
        keys=prela.keys,
        has_span_ids=True,
    ),
    Importer(
        name="otlp",
        title="OpenTelemetry (OTLP)",
        sniff=detection.sniff_otlp,
        parse_together=spans.parse,
        keys=spans.keys,
        has_span_ids=True,
    ),
    Importer(
        name="langfuse",
        title="Langfuse ingestion",
        sniff=detection.sniff_langfuse,
        parse_together=langfuse.parse,
        keys=langfuse.keys,
        parse_arrivals=langfuse.parse_arrivals,
        has_ended=langfuse.has_ended,
        has_span_ids=True,
    ),
    Importer(
        name="langsmith",
        title="LangSmith runs",
        sniff=detection.sniff_langsmith,
        parse_together=langsmith.parse,
        keys=langsmith.keys,
        parse_arrivals=langsmith.parse_arrivals,
        has_span_ids=True,
    ),
    Importer(
        name=agents_sdk.FORMAT,
        title="OpenAI Agents SDK traces",
        sniff=detection.sniff_by_value(agents_sdk.is_export),
        parse_together=agents_sdk.parse,
        has_span_ids=True,
    ),
    Importer(
        name=braintrust.FORMAT,
        title="Braintrust logs and experiments",
        sniff=detection.sniff_by_value(braintrust.is_export),
        parse_together=braintrust.parse,
        has_span_ids=True,
    ),
    Importer(
        name=opik.FORMAT,
        title="Opik traces",
        sniff=detection.sniff_by_value(opik.is_export, detection.LIKELY + 0.1),
        parse_together=opik.parse,
        has_span_ids=True,
    ),
    Importer(
        name=helicone.FORMAT,
        title="Helicone requests",
        sniff=detection.sniff_by_value(helicone.is_log),
        parse_together=helicone.parse,
    ),
    Importer(
        name=weave.FORMAT,
        title="Weave calls",
        sniff=detection.sniff_by_value(weave.is_export),
        parse_together=weave.parse,
        has_span_ids=True,
    ),
    Importer(
        name=datadog.FORMAT,
        title="Datadog spans",
        sniff=detection.sniff_by_value(datadog.is_export),
        parse_together=datadog.parse,
        has_span_ids=True,
    ),
    Importer(
        name=litellm.FORMAT,
        title="LiteLLM calls",
        sniff=detection.sniff_by_value(litellm.is_log),
        parse_together=litellm.parse,
    ),
    Importer(
        name=portkey.FORMAT,
        title="Portkey logs",
        sniff=detection.sniff_by_value(portkey.is_log),
        parse_together=portkey.parse,
    ),
    Importer(
        name=promptlayer.FORMAT,
        title="PromptLayer requests",
        sniff=detection.sniff_by_value(promptlayer.is_log),
        parse_together=promptlayer.parse,
    ),
    Importer(
        name=bedrock_agents.FORMAT,
        title="traces of Bedrock agents",
        sniff=detection.sniff_by_value(bedrock_agents.is_trace),
        parse_together=bedrock_agents.parse,
    ),
    Importer(
        name=mastra.FORMAT,
        title="Mastra traces and threads",
        sniff=stores.sniff(mastra_store.is_database, detection.sniff_by_value(mastra.is_export)),
        parse_together=mastra_store.parse,
        has_span_ids=True,
    ),
    Importer(
        name=posthog.FORMAT,
        title="PostHog events",
        sniff=detection.sniff_by_value(posthog.is_export),
        parse_together=posthog.parse,
        has_span_ids=True,
    ),
    Importer(
        name=galileo.FORMAT,
        title="Galileo traces and spans",
        sniff=detection.sniff_by_value(galileo.is_export),
        parse_together=galileo.parse,
        has_span_ids=True,
    ),
    Importer(
        name=honeyhive.FORMAT,
        title="HoneyHive sessions",
        sniff=detection.sniff_by_value(honeyhive.is_export),
        parse_together=honeyhive.parse,
        has_span_ids=True,
    ),
    Importer(
        name=chainlit.FORMAT,
        title="threads of Chainlit and Literal AI",
        sniff=detection.sniff_by_value(chainlit.is_export),
        parse=chainlit.parse,
        by_line=lines_are_runs,
        has_ends=False,
    ),
    Importer(
        name=lunary.FORMAT,
        title="Lunary runs",
        sniff=detection.sniff_by_value(lunary.is_export),
        parse_together=lunary.parse,
        has_span_ids=True,
    ),
    Importer(
        name=newrelic.FORMAT,
        title="New Relic's events of AI monitoring",
        sniff=detection.sniff_by_value(newrelic.is_export),
        parse_together=newrelic.parse,
    ),
)
