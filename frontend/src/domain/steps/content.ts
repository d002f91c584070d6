// Payloads parsed into the shape of their step type. Anything else is shown as plain JSON.
import type { JsonValue, StepDetail } from "@/api/schema";
import { isObject } from "@/ui/format/json";

interface ToolCall {
  id: string;
  name: string;
  arguments: JsonValue;
}
export interface Message {
  role: string;
  /** The text parts of the content, joined. */
  text: string;
  /** Parts that are not text: images, files, thinking. */
  blocks: JsonValue[];
  calls: ToolCall[];
  answers: string;
  name: string;
}
export interface ModelInput {
  messages: Message[];
  tools: JsonValue[];
  parameters: Record<string, JsonValue>;
  /** All other fields of the request. */
  rest: Record<string, JsonValue>;
}
export interface Document {
  id: string;
  title: string;
  content: string;
  score: number | null;
  metadata: Record<string, JsonValue>;
}

function text(value: JsonValue | undefined): string {
  if (typeof value === "string") return value;
  return typeof value === "number" ? String(value) : "";
}

function list(value: JsonValue | undefined): JsonValue[] {
  return Array.isArray(value) ? value : [];
}

export function readMessage(value: JsonValue | undefined): Message | null {
  if (!isObject(value) || typeof value["role"] !== "string") return null;
  const parts = Array.isArray(value["content"]) ? value["content"] : [value["content"] ?? null];
  const texts: string[] = [];
  const blocks: JsonValue[] = [];
  for (const part of parts) {
    if (typeof part === "string") texts.push(part);
    else if (isObject(part) && part["type"] === "text" && typeof part["text"] === "string") texts.push(part["text"]);
    else if (part !== null) blocks.push(part);
  }
  return {
    role: value["role"],
    text: texts.join("\n\n"),
    blocks,
    calls: list(value["tool_calls"]).flatMap(readCall),
    answers: text(value["tool_call_id"]),
    name: text(value["name"]),
  };
}

function readCall(value: JsonValue): ToolCall[] {
  if (!isObject(value) || typeof value["name"] !== "string") return [];
  return [{ id: text(value["id"]), name: value["name"], arguments: value["arguments"] ?? {} }];
}

export function readMessages(value: JsonValue | undefined): Message[] | null {
  if (!Array.isArray(value)) return null;
  const messages = value.map(readMessage);
  return messages.every((message) => message !== null) ? messages : null;
}

export function readModelInput(value: JsonValue): ModelInput | null {
  if (!isObject(value)) return null;
  const messages = readMessages(value["messages"]);
  if (!messages) return null;
  const { messages: _, tools, parameters, ...rest } = value;
  return { messages, tools: list(tools), parameters: isObject(parameters) ? parameters : {}, rest };
}

/** The message in the output of a model or turn, and the remaining fields. */
export function readAnswer(value: JsonValue): { message: Message; rest: Record<string, JsonValue> } | null {
  if (!isObject(value)) return null;
  const message = readMessage(value["message"]);
  if (!message) return null;
  const { message: _, ...rest } = value;
  return { message, rest };
}

export function readDocuments(value: JsonValue): Document[] | null {
  if (!isObject(value) || !Array.isArray(value["documents"])) return null;
  return value["documents"].map((item, index) => {
    const document = isObject(item) ? item : { content: item };
    const metadata = isObject(document["metadata"]) ? document["metadata"] : {};
    return {
      id: text(document["id"]) || String(index + 1),
      title: text(document["title"]) || text(metadata["title"]) || text(metadata["source"]) || text(document["id"]),
      content:
        typeof document["content"] === "string" ? document["content"] : JSON.stringify(document["content"] ?? null),
      score: typeof document["score"] === "number" ? document["score"] : null,
      metadata,
    };
  });
}

/** The text of an output that consists of one text; null for any other. */
export function readText(value: JsonValue): string | null {
  if (typeof value === "string") return value;
  return isObject(value) && typeof value["text"] === "string" ? value["text"] : null;
}

export interface TemplatePiece {
  text: string;
  variable: string | null;
}

/** Split a template at its variables: `{name}`, `{{ name }}`, `${name}`. */
export function templatePieces(template: string): TemplatePiece[] {
  const pieces: TemplatePiece[] = [];
  let end = 0;
  for (const match of template.matchAll(/\{\{\s*([\w.]+)\s*\}\}|\$?\{([\w.]+)\}/g)) {
    if (match.index > end) pieces.push({ text: template.slice(end, match.index), variable: null });
    pieces.push({ text: match[0], variable: match[1] ?? match[2] ?? null });
    end = match.index + match[0].length;
  }
  if (end < template.length) pieces.push({ text: template.slice(end), variable: null });
  return pieces;
}

/** The system prompt of a model step, wherever it is in the request. */
export function systemPrompt(input: ModelInput): string | null {
  return input.messages.find((message) => message.role === "system" || message.role === "developer")?.text ?? null;
}

export interface Origin {
  step: number;
  name: string;
}

/** The step whose output the tool message at `index` contains. */
export function originOf(index: number, edges: StepDetail["consumed"]): Origin | null {
  const path = `/messages/${index}`;
  const edge = edges.find(
    (edge) => edge.kind !== "history" && (edge.consumer_path === path || edge.consumer_path.startsWith(`${path}/`)),
  );
  return edge ? { step: edge.step, name: edge.name } : null;
}
