"""pydantic-ai's own instrumentation, in the version that PYDANTIC_AI_FORMAT names."""

import os
from contextlib import contextmanager

from opentelemetry._logs import set_logger_provider
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from pydantic_ai import Agent, InstrumentationSettings


@contextmanager
def traced(desk):
    tracers, loggers = TracerProvider(), LoggerProvider()
    tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    loggers.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
    set_logger_provider(loggers)
    version, *mode = os.environ["PYDANTIC_AI_FORMAT"].split()
    options = {"event_mode": mode[0]} if mode else {}
    settings = InstrumentationSettings(tracer_provider=tracers, version=int(version), **options)
    Agent.instrument_all(settings)
    yield
    tracers.shutdown()
    loggers.shutdown()
