// A fork while it is edited: a sparse list of overrides. An absent field means "as recorded".
import type {
  JsonValue,
  Match,
  MessageEdit,
  ModelOverride,
  Override,
  Policy,
  PromptOverride,
  RetrievalOverride,
  ToolOverride,
} from "@/api/schema";
import type { SparsePolicy } from "./policy";

export interface SparseOverride {
  match: Partial<Match>;
  prompt?: Partial<PromptOverride>;
  messages?: (Pick<MessageEdit, "op" | "index"> & Partial<MessageEdit>)[];
  model?: Partial<ModelOverride>;
  retrieval?: Partial<RetrievalOverride>;
  arguments?: JsonValue;
  tool?: Partial<ToolOverride> & Pick<ToolOverride, "output">;
  output?: JsonValue;
}
export interface Draft {
  overrides: SparseOverride[];
  policy: SparsePolicy;
}
export const emptyDraft: Draft = { overrides: [], policy: {} };

/** Convert a replay's edits to a draft. The server sends every field; drafts omit those that stay as recorded. */
export function draftOf(overrides: readonly Override[], policy: Policy): Draft {
  const { budget, ...rest } = policy;
  return { overrides: overrides.map(sparse), policy: { ...withoutNulls(rest), budget: withoutNulls(budget) } };
}

function sparse(override: Override): SparseOverride {
  const { match, messages, arguments: newArguments, tool, output, ...parts } = override;
  const fields = Object.entries<object | null>(parts).flatMap(([name, part]) =>
    part ? [[name, withoutNulls(part)]] : [],
  );
  return {
    match: withoutNulls(match),
    ...(Object.fromEntries(fields) as Partial<SparseOverride>),
    ...(messages && { messages: messages.map(sparseEdit) }),
    ...(newArguments !== null && { arguments: newArguments }),
    ...(tool && { tool }),
    ...(output !== null && { output }),
  };
}

function sparseEdit({
  op,
  index,
  role,
  content,
  message,
  passages,
}: MessageEdit): NonNullable<SparseOverride["messages"]>[number] {
  if (passages) return { op, index, passages };
  if (message !== null) return { op, index, message };
  return { op, index, ...(op !== "delete" && { content }), ...(role !== null && { role }) };
}

function withoutNulls<T extends object>(fields: T): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as Partial<T>;
}

export function removeEntry(draft: Draft, index: number): Draft {
  return { ...draft, overrides: draft.overrides.filter((_, position) => position !== index) };
}

export type JsonObject = Record<string, JsonValue>;

/** The body of a preview or launch. The server fills absent fields with defaults. */
export function toRequest(run: string, fork: number, draft: Draft) {
  return { run, fork_step: fork, overrides: { overrides: draft.overrides }, policy: draft.policy };
}

/** Parse an override list that the user typed. Returns the error in one sentence if it is invalid. */
export function parseOverrides(text: string): { overrides: SparseOverride[] } | { error: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
  const list = Array.isArray(value)
    ? value
    : typeof value === "object" && value !== null && "overrides" in value
      ? value.overrides
      : null;
  if (!Array.isArray(list)) return { error: 'This must be {"overrides": [ … ]} or the list itself.' };
  const bad = list.findIndex((entry: unknown) => typeof entry !== "object" || entry === null || !("match" in entry));
  if (bad >= 0) return { error: `Entry ${bad + 1} has no "match".` };
  return { overrides: list as SparseOverride[] };
}

/** The index of the entry that a JSON pointer refers to, as in "/overrides/2/model". */
export function entryOf(pointer: string): number | null {
  const match = /^\/?(?:overrides\/){1,2}(\d+)(?:\/|$)/.exec(pointer.replace(/^\//, ""));
  return match?.[1] === undefined ? null : Number(match[1]);
}
