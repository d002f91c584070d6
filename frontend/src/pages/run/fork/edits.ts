// Edits of a fork's draft: set a field, set a part, remove either.
import type { Match, StepType } from "@/api/schema";
import type { Draft, SparseOverride } from "@/domain/overrides/draft";

/** Whether an edit applies to one step, or to all steps of its type from the fork on. */
export type Scope = "step" | "type";

export function matchFor(scope: Scope, step: { sequence_no: number; type: StepType }): Partial<Match> {
  return scope === "step" ? { step: step.sequence_no } : { type: step.type };
}

function sameMatch(a: Partial<Match>, b: Partial<Match>): boolean {
  const names = ["step", "type", "name", "model", "since", "before"] as const;
  return names.every((name) => (a[name] ?? null) === (b[name] ?? null));
}

export function entryFor(draft: Draft, match: Partial<Match>): SparseOverride | undefined {
  return draft.overrides.find((entry) => sameMatch(entry.match, match));
}

/** The draft with one entry changed. Entries without settings are removed. */
function changeEntry(draft: Draft, match: Partial<Match>, change: (entry: SparseOverride) => SparseOverride): Draft {
  const previous = entryFor(draft, match);
  const changedEntry = change(previous ?? { match });
  const replacement = hasSettings(changedEntry) ? [changedEntry] : [];
  const overrides = previous
    ? draft.overrides.flatMap((entry) => (entry === previous ? replacement : [entry]))
    : [...draft.overrides, ...replacement];
  return { ...draft, overrides };
}

function hasSettings(entry: SparseOverride): boolean {
  return Object.keys(entry).some((key) => key !== "match");
}

type Part = "prompt" | "model" | "retrieval";

/** Set one field of a part. `undefined` restores the recorded value. */
export function setField<P extends Part, F extends keyof NonNullable<SparseOverride[P]>>(
  draft: Draft,
  match: Partial<Match>,
  part: P,
  field: F,
  value: NonNullable<SparseOverride[P]>[F] | undefined,
): Draft {
  return changeEntry(draft, match, (entry) => {
    const { [part]: previous, ...rest } = entry;
    const fields = Object.entries({ ...previous, [field]: value }).filter(([, fieldValue]) => fieldValue !== undefined);
    return (fields.length > 0 ? { ...rest, [part]: Object.fromEntries(fields) } : rest) as SparseOverride;
  });
}

/** Set or remove a part that is a single value. */
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
