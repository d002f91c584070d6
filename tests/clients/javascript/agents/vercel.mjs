import { createOpenAI } from "@ai-sdk/openai";
import { trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import * as ai from "ai";
import { z } from "zod";
import { fails, instructions, question, results, streams } from "./desk.mjs";

const provider = new NodeTracerProvider({
  resource: resourceFromAttributes({ "service.name": "desk" }),
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
});
provider.register();

// Version 7 has an integration in a package of its own; in version 6, each call turns telemetry on.
async function telemetry() {
  const context = { userId: "u1", sessionId: "s1" };
  if (!ai.registerTelemetry) return { experimental_telemetry: { isEnabled: true, metadata: context } };
  const { OpenTelemetry } = await import("@ai-sdk/otel");
  ai.registerTelemetry(new OpenTelemetry({ runtimeContext: true, usage: true }));
  return { runtimeContext: context, telemetry: { includeRuntimeContext: { userId: true, sessionId: true } } };
}

const openai = createOpenAI();
const inputSchema = z.object({ city: z.string() });
const tools = Object.fromEntries(
  Object.entries(results).map(([name, run]) => [name, ai.tool({ inputSchema, execute: ({ city }) => run(city) })]),
);
const request = {
  ...(await telemetry()),
  model: process.env.API === "responses" ? openai.responses("gpt-4o-mini") : openai.chat("gpt-4o-mini"),
  [ai.registerTelemetry ? "instructions" : "system"]: instructions,
  prompt: question,
  tools,
  stopWhen: ai.stepCountIs(5),
  maxRetries: 0,
  temperature: 0.2,
  maxOutputTokens: 100,
};

await trace.getTracer("agent").startActiveSpan("agent", async (span) => {
  if (streams) await ai.streamText(request).consumeStream();
  else await ai.generateText(request).catch((error) => fails || Promise.reject(error));
  console.log(span.spanContext().traceId);
  span.end();
});
await provider.shutdown();
