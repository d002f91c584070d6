import { OpenAIInstrumentation } from "@arizeai/openinference-instrumentation-openai";
import { trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import OpenAI from "openai";
import { converse, results } from "./desk.mjs";

const provider = new NodeTracerProvider({
  resource: resourceFromAttributes({ "service.name": "desk" }),
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
});
provider.register();
new OpenAIInstrumentation().manuallyInstrument(OpenAI);
const tracer = trace.getTracer("agent");

function callTool(name, input) {
  const attributes = { "openinference.span.kind": "TOOL", "tool.name": name, "input.value": JSON.stringify(input) };
  const span = tracer.startSpan(name, { attributes });
  const output = results[name](input.city);
  span.setAttribute("output.value", output).end();
  return output;
}

const attributes = { "openinference.span.kind": "AGENT", "session.id": "s1", "user.id": "u1" };
await tracer.startActiveSpan("agent", { attributes }, async (span) => {
  await converse(new OpenAI({ maxRetries: 0 }), callTool);
  console.log(span.spanContext().traceId);
  span.end();
});
await provider.shutdown();
