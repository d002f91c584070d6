// Descriptions of a fork's changes.
import type { JsonValue, ToolOverride } from "@/api/schema";
import { pluralize } from "@/ui/format/numbers";
import type { SparseOverride } from "./draft";

type MessageEdit = NonNullable<SparseOverride["messages"]>[number];
type SparseRetrieval = NonNullable<SparseOverride["retrieval"]>;

/** Outcome of a tool call. */
export const callOutcome: Record<ToolOverride["status"], string> = {
  ok: "succeeds",
  error: "fails",
  timeout: "times out",
  partial: "returns a partial result",
  denied: "is denied",
};

/** The steps that an entry applies to. */
export function describeMatch({ match }: Pick<SparseOverride, "match">): string {
  if (match.step != null) return `step ${match.step}`;
  const name = match.name ? ` ${match.name}` : "";
  const model = match.model ? ` on ${match.model}` : "";
  const range = match.since == null ? "" : ` from step ${match.since} on`;
  const before = match.before == null ? "" : ` before step ${match.before}`;
  return `every ${match.type ?? ""} step${name}${model}${range}${before}`;
}

/** All changes in one line. */
export function describeChanges(overrides: readonly SparseOverride[]): string {
  return overrides.map((entry) => `${describeSettings(entry)}: ${describeMatch(entry)}`).join("; ") || "no changes";
}

/** The settings of an entry. */
export function describeSettings(entry: SparseOverride): string {
  const words: string[] = [];
  if (entry.prompt?.system !== undefined) words.push("system prompt");
  if (entry.prompt && Object.keys(entry.prompt).some((key) => key !== "system")) words.push("prompt");
  if (entry.messages) words.push(...entry.messages.map(messageWords));
  if (entry.model) words.push(...modelWords(entry.model));
  if (entry.retrieval) words.push(...retrievalWords(entry.retrieval));
  if (entry.arguments !== undefined) words.push("arguments");
  if (entry.tool) words.push("tool result");
  if ("output" in entry) words.push("output");
  return words.join(", ");
}

function modelWords({
  tools,
  response_format,
  parameters,
  unset,
  ...model
}: NonNullable<SparseOverride["model"]>): string[] {
  const fields = { ...model, ...parameters };
  return [
    ...Object.entries(fields).map(([name, value]) => {
      if (name === "model") return String(value);
      return name === "provider" ? `on ${String(value)}` : `${name} ${brief(value)}`;
    }),
    ...(tools ? [tools.length > 0 ? pluralize(tools.length, "tool") : "no tools"] : []),
    ...(response_format ? ["response format"] : []),
    ...(unset ?? []).map((name) => `no ${name.replaceAll("_", " ")}`),
  ];
}

function brief(value: JsonValue): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > CHIP_TEXT ? `${text.slice(0, CHIP_TEXT).trimEnd()}…` : text;
}

/** Length at which chips truncate long texts. The field below shows them in full. */
const CHIP_TEXT = 32;

function messageWords(edit: MessageEdit): string {
  const { op, index } = edit;
  if (op === "delete") return `message ${index + 1} removed`;
  const content = edit.message ? edit.message["content"] : edit.content;
  const messageRole = edit.message?.["role"];
  const role = typeof messageRole === "string" ? messageRole : edit.role;
  const text = typeof content === "string" ? content : JSON.stringify(content ?? null);
  const short = text.length > CHIP_TEXT ? `${text.slice(0, CHIP_TEXT).trimEnd()}…` : text;
  return op === "replace"
    ? `message ${index + 1}: “${short}”`
    : `new ${role ?? "user"} message${short && `: “${short}”`}`;
}

function retrievalWords({ documents, query, top_k: topK, ...rest }: SparseRetrieval): string[] {
  return [
    ...(documents ? [pluralize(documents.length, "document")] : []),
    ...(query != null ? [`query “${query}”`] : []),
    ...(topK != null ? [`up to ${topK}`] : []),
    ...("filters" in rest ? ["filters"] : []),
    ...(rest.embedding_profile != null ? [`embedding ${rest.embedding_profile}`] : []),
  ];
}
