import { LangfuseClient } from "@langfuse/client";
import { observeOpenAI } from "@langfuse/openai";
import { LangfuseSpanProcessor } from "@langfuse/otel";
import { getActiveTraceId, propagateAttributes, startActiveObservation, startObservation } from "@langfuse/tracing";
import { NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import OpenAI from "openai";
import { converse, question, results } from "./desk.mjs";

const provider = new NodeTracerProvider({ spanProcessors: [new LangfuseSpanProcessor()] });
provider.register();
const langfuse = new LangfuseClient();
const openai = observeOpenAI(new OpenAI({ maxRetries: 0 }));

function callTool(name, input) {
  const tool = startObservation(name, { input }, { asType: "tool" });
  const output = results[name](input.city);
  tool.update({ output }).end();
  return output;
}

async function agent(span) {
  span.update({ input: { question } });
  try {
    span.update({ output: await converse(openai, callTool) });
  } catch (error) {
    span.update({ level: "ERROR", statusMessage: String(error) });
  }
  langfuse.score.activeTrace({ name: "helpful", value: 0.75, comment: "well done" });
  langfuse.score.trace({ otelSpan: span.otelSpan }, { name: "tone", value: "calm", dataType: "CATEGORICAL" });
  console.log(getActiveTraceId());
}

const context = { userId: "u1", sessionId: "s1", tags: ["demo"] };
await startActiveObservation("agent", (span) => propagateAttributes(context, () => agent(span)), { asType: "agent" });
await langfuse.flush();
await provider.shutdown();
