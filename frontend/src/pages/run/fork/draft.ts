// The fork as it is being edited: a sparse override list, because an absent field means "as recorded".
import type {
  JsonValue,
  Match,
  MessageEdit,
  ModelOverride,
  Override,
  Policy,
  PromptOverride,
  RetrievalOverride,
  StepType,
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

/** The edits of a replay as a draft: the server writes every field out, here absent means "as recorded". */
export function draftOf(overrides: readonly Override[], policy: Policy): Draft {
  const { budget, ...rest } = policy;
  return { overrides: overrides.map(sparse), policy: { ...given(rest), budget: given(budget) } };
}

function sparse(override: Override): SparseOverride {
  const { match, messages, arguments: called, tool, output, ...parts } = override;
  const fields = Object.entries<object | null>(parts).flatMap(([name, part]) => (part ? [[name, given(part)]] : []));
  return {
    match: given(match),
    ...(Object.fromEntries(fields) as Partial<SparseOverride>),
    ...(messages && { messages: messages.map(sparseEdit) }),
    ...(called !== null && { arguments: called }),
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
}: MessageEdit): NonNullable<SparseOverride["messages"]>[number] {
  if (message !== null) return { op, index, message };
  return { op, index, ...(op !== "delete" && { content }), ...(role !== null && { role }) };
}

function given<T extends object>(fields: T): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as Partial<T>;
}

/** Whether an edit applies to the one step or to all steps of its type from the fork on. */
export type Scope = "step" | "type";

export function matchFor(scope: Scope, step: { sequence_no: number; type: StepType }): Partial<Match> {
  return scope === "step" ? { step: step.sequence_no } : { type: step.type };
}

function sameMatch(one: Partial<Match>, other: Partial<Match>): boolean {
  const names = ["step", "type", "name", "model", "since", "before"] as const;
  return names.every((name) => (one[name] ?? null) === (other[name] ?? null));
}

export function entryFor(draft: Draft, match: Partial<Match>): SparseOverride | undefined {
  return draft.overrides.find((entry) => sameMatch(entry.match, match));
}

/** The draft with one entry changed; an entry that sets nothing any more is dropped. */
function changeEntry(draft: Draft, match: Partial<Match>, change: (entry: SparseOverride) => SparseOverride): Draft {
  const before = entryFor(draft, match);
  const after = change(before ?? { match });
  const kept = setsSomething(after) ? [after] : [];
  const overrides = before
    ? draft.overrides.flatMap((entry) => (entry === before ? kept : [entry]))
    : [...draft.overrides, ...kept];
  return { ...draft, overrides };
}

function setsSomething(entry: SparseOverride): boolean {
  return Object.keys(entry).some((key) => key !== "match");
}

type Part = "prompt" | "model" | "retrieval";

/** Sets one field of one part; `undefined` goes back to the recording. */
export function setField<P extends Part, F extends keyof NonNullable<SparseOverride[P]>>(
  draft: Draft,
  match: Partial<Match>,
  part: P,
  field: F,
  value: NonNullable<SparseOverride[P]>[F] | undefined,
): Draft {
  return changeEntry(draft, match, (entry) => {
    const { [part]: before, ...rest } = entry;
    const fields = Object.entries({ ...before, [field]: value }).filter(([, each]) => each !== undefined);
    return (fields.length > 0 ? { ...rest, [part]: Object.fromEntries(fields) } : rest) as SparseOverride;
  });
}

/** Sets or drops a part that is a value of its own. */
export function setPart<P extends "arguments" | "tool" | "output" | "messages">(
  draft: Draft,
  match: Partial<Match>,
  part: P,
  value: SparseOverride[P] | undefined,
): Draft {
  return changeEntry(draft, match, (entry) => {
    const { [part]: _, ...rest } = entry;
    return (value === undefined ? rest : { ...rest, [part]: value }) as SparseOverride;
  });
}

export function removeEntry(draft: Draft, index: number): Draft {
  return { ...draft, overrides: draft.overrides.filter((_, at) => at !== index) };
}

/** Replaces the content of one recorded message; `undefined` takes the edit back. */
export function editMessage(draft: Draft, match: Partial<Match>, index: number, content: JsonValue | undefined): Draft {
  const before = entryFor(draft, match)?.messages ?? [];
  const others = before.filter((edit) => edit.index !== index || edit.op === "insert");
  const edits = content === undefined ? others : [...others, { op: "replace" as const, index, content }];
  edits.sort((one, other) => one.index - other.index);
  return setPart(draft, match, "messages", edits.length > 0 ? edits : undefined);
}

export function deleteMessage(draft: Draft, match: Partial<Match>, index: number): Draft {
  const others = (entryFor(draft, match)?.messages ?? []).filter(
    (edit) => edit.index !== index || edit.op === "insert",
  );
  const edits = [...others, { op: "delete" as const, index }].sort((one, other) => one.index - other.index);
  return setPart(draft, match, "messages", edits);
}

/** A message that is put in; `whole` has what else it says, as the calls that it makes. */
export interface Inserted {
  text: string;
  role: string;
  whole?: JsonObject;
}
type JsonObject = Record<string, JsonValue>;

/** The messages that are put in before one recorded message, or after the last, in the order of the list. */
export function insertedAt(edits: SparseOverride["messages"], index: number): Inserted[] {
  const found = (edits ?? []).filter((edit) => edit.op === "insert" && edit.index === index);
  return found.map(({ content, role, message }) => {
    const text = textOf(message ? message["content"] : content);
    const said = message ? message["role"] : role;
    return { text, role: typeof said === "string" ? said : "user", ...(message && { whole: message }) };
  });
}

function textOf(content: JsonValue | undefined): string {
  return typeof content === "string" ? content : JSON.stringify(content ?? null);
}

/** Replaces everything that is put in before one recorded message. */
export function insertMessages(
  draft: Draft,
  match: Partial<Match>,
  index: number,
  messages: readonly Inserted[],
): Draft {
  const before = entryFor(draft, match)?.messages ?? [];
  const others = before.filter((edit) => edit.index !== index || edit.op !== "insert");
  const added = messages.map(({ text, role, whole }) =>
    whole
      ? { op: "insert" as const, index, message: { ...whole, role, content: kept(whole["content"], text) } }
      : { op: "insert" as const, index, role, content: text },
  );
  const edits = [...others, ...added].sort((one, other) => one.index - other.index);
  return setPart(draft, match, "messages", edits.length > 0 ? edits : undefined);
}

/** Content that is no text stays what it is as long as nobody changed how it is written. */
function kept(content: JsonValue | undefined, text: string): JsonValue {
  return content !== undefined && textOf(content) === text ? content : text;
}

/** The body of a preview or launch. The schema lists every field; absent ones take the server's defaults. */
export function toRequest(run: string, fork: number, draft: Draft) {
  return { run, fork_step: fork, overrides: { overrides: draft.overrides }, policy: draft.policy };
}

/** An override list that someone typed; says what is wrong in one sentence. */
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

/** The entry that a pointer into the request is about, as "/overrides/overrides/2/model" or "/overrides/2/model". */
export function entryOf(where: string): number | null {
  const found = /^\/?(?:overrides\/){1,2}(\d+)(?:\/|$)/.exec(where.replace(/^\//, ""));
  return found?.[1] === undefined ? null : Number(found[1]);
}
