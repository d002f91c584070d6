import { NumberInput, TagsInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { toolsQuery } from "@/api/tools/tools";
import { LazyDetails } from "@/ui/LazyDetails";
import classes from "../Fork.module.css";
import { type SparsePolicy } from "@/domain/overrides/policy";
import { details, withPart, withField, DEFAULTS } from "./fields";

interface Props {
  policy: SparsePolicy;
  onChange: (policy: SparsePolicy) => void;
}

const LISTS = [
  { rule: "allow", label: "Only these tools may run", nothing: "all reviewed tools" },
  { rule: "block", label: "These tools never run", nothing: "none" },
  { rule: "ask", label: "Ask me before these tools run", nothing: "none" },
] as const;

interface Limit {
  label: string;
  min?: number;
  max?: number;
  /** Step size of fractions. Whole numbers have none. */
  step?: number;
  defaultValue?: number;
  value: (policy: SparsePolicy) => number | null | undefined;
  withValue: (policy: SparsePolicy, value: number | undefined) => SparsePolicy;
}

const LIMITS: readonly Limit[] = [
  field("semantic_threshold", "Similarity threshold for cached calls", { max: 1, step: 0.01 }),
  field("determinism_threshold", "Minimum score for type A", { max: 1, step: 0.01 }),
  field("max_turns", "Max turns", { min: 1 }),
  budget("max_steps", "Max steps"),
  budget("deadline_s", "Time limit in seconds"),
  retries("max", "Retries per failed call", { max: 20 }),
  retries("initial_s", "First wait in seconds", { step: 0.5 }),
  retries("base", "Wait multiplier", { min: 1, step: 0.5 }),
  retries("cap_s", "Longest wait in seconds", { step: 0.5 }),
];

function field(
  name: "semantic_threshold" | "determinism_threshold" | "max_turns",
  label: string,
  bounds: Partial<Limit>,
): Limit {
  return {
    label,
    ...bounds,
    defaultValue: DEFAULTS[name],
    value: (policy) => policy[name],
    withValue: (policy, value) => withField(policy, name, value),
  };
}

function budget(name: "max_steps" | "deadline_s", label: string): Limit {
  return {
    label,
    min: 1,
    value: (policy) => policy.budget?.[name],
    withValue: (policy, value) => withPart(policy, "budget", { [name]: value }),
  };
}

function retries(name: keyof typeof DEFAULTS.retries, label: string, bounds: Partial<Limit>): Limit {
  return {
    label,
    ...bounds,
    defaultValue: DEFAULTS.retries[name],
    value: (policy) => policy.retries?.[name],
    withValue: (policy, value) => withPart(policy, "retries", { [name]: value }),
  };
}

/** Rarely needed settings: individual tools, similarity, limits, retries. */
export function PolicyDetails({ policy, onChange }: Props): ReactElement {
  const names = useQuery(toolsQuery).data?.tools.map(({ name }) => name) ?? [];
  return (
    <LazyDetails
      className={classes.more}
      hasEdits={details(policy).length > 0}
      summary="Individual tools, similarity, limits, retries"
    >
      {LISTS.map(({ rule, label, nothing: placeholder }) => (
        <TagsInput
          key={rule}
          label={label}
          data={names}
          value={policy.tools?.[rule] ?? []}
          onChange={(tools) => onChange(withPart(policy, "tools", { [rule]: tools }))}
          placeholder={policy.tools?.[rule]?.length ? "" : placeholder}
        />
      ))}
      <p className="muted">
        Names or patterns such as refund_*. Calls with a recorded result get it without a question.
      </p>
      <div className={classes.pair}>
        {LIMITS.map((limit) => (
          <NumberInput
            key={limit.label}
            label={limit.label}
            min={limit.min ?? 0}
            {...(limit.max !== undefined && { max: limit.max })}
            step={limit.step ?? 1}
            allowDecimal={limit.step !== undefined}
            placeholder={limit.defaultValue?.toString() ?? "no limit"}
            value={limit.value(policy) ?? ""}
            onChange={(value) => onChange(limit.withValue(policy, value === "" ? undefined : Number(value)))}
          />
        ))}
      </div>
    </LazyDetails>
  );
}
