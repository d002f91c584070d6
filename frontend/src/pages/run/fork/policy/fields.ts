// Fields of a policy while they are edited.
import type { Policy } from "@/api/schema";
import type { Part, SparsePolicy } from "@/domain/overrides/policy";

/** Defaults of fields that a policy does not set. */
export const DEFAULTS = {
  semantic_threshold: 0.85,
  determinism_threshold: 0.8,
  max_turns: 25,
  retries: { max: 3, initial_s: 1, base: 2, cap_s: 60 },
} as const;

/** Set a field, or remove it if the value is empty. */
export function withField<F extends keyof SparsePolicy>(
  policy: SparsePolicy,
  field: F,
  value: SparsePolicy[F] | undefined,
): SparsePolicy {
  const { [field]: _, ...rest } = policy;
  return value === undefined ? rest : { ...policy, [field]: value };
}

/** Set fields of a part, or remove empty ones. A part without fields is removed. */
export function withPart<P extends Part>(
  policy: SparsePolicy,
  part: P,
  change: {
    [F in keyof Policy[P]]?: Policy[P][F] | null | undefined;
  },
): SparsePolicy {
  const fields = Object.entries({ ...policy[part], ...change }).filter(([, value]) => isSet(value));
  return withField(policy, part, fields.length > 0 ? (Object.fromEntries(fields) as SparsePolicy[P]) : undefined);
}

function isSet(value: unknown): boolean {
  return value != null && !(Array.isArray(value) && value.length === 0);
}

/** Policy settings other than live calls, order and budget, in words. */
export function details({ tools, budget, retries, ...policy }: SparsePolicy): string[] {
  const { semantic_threshold: likeness, determinism_threshold: score, max_turns: turns } = policy;
  return [
    toolList("only", tools?.allow),
    toolList("never", tools?.block),
    toolList("asks before", tools?.ask),
    isChanged(likeness, DEFAULTS.semantic_threshold) && `similarity ≥ ${likeness}`,
    isChanged(score, DEFAULTS.determinism_threshold) && `type A ≥ ${score}`,
    isChanged(turns, DEFAULTS.max_turns) && `≤ ${turns} turns`,
    budget?.max_steps != null && `≤ ${budget.max_steps} steps`,
    budget?.deadline_s != null && `≤ ${budget.deadline_s} s`,
    isChanged(retries?.max, DEFAULTS.retries.max) && `${retries?.max} retries`,
    hasCustomWaits(retries) && "custom waits",
  ].filter((phrase) => phrase !== false);
}

function toolList(verb: string, tools: readonly string[] | undefined): string | false {
  return tools !== undefined && tools.length > 0 && `${verb} ${tools.join(", ")}`;
}

function isChanged(value: number | undefined, defaultValue: number): boolean {
  return value !== undefined && value !== defaultValue;
}

function hasCustomWaits(retries: SparsePolicy["retries"]): boolean {
  return (["initial_s", "base", "cap_s"] as const).some((name) => isChanged(retries?.[name], DEFAULTS.retries[name]));
}
