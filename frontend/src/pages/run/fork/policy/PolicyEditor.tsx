import { NumberInput, SegmentedControl, Switch } from "@mantine/core";
import { IconChevronRight } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import type { RetrieverView } from "@/api/schema";
import { retrieversQuery } from "@/api/tools/trials";
import type { Draft } from "@/domain/overrides/draft";
import { LazyDetails } from "@/ui/LazyDetails";
import classes from "../Fork.module.css";
import { type SparsePolicy } from "@/domain/overrides/policy";
import { details, withPart } from "./fields";
import { PolicyDetails } from "./PolicyDetails";
import { SavedPolicies } from "../saved/SavedProfiles";

interface Props {
  draft: Draft;
  onChange: (draft: Draft) => void;
}

/** Edit the policy. Fields that are not set use the server's defaults. */
export function PolicyEditor({ draft, onChange: changeDraft }: Props): ReactElement {
  const { policy } = draft;
  const onChange = (next: SparsePolicy) => changeDraft({ ...draft, policy: next });
  const live = policy.allow?.includes("model") ?? true;
  const tools = policy.allow?.includes("tool") ?? false;
  const searches = policy.allow?.includes("retrieval") ?? false;
  const { data: retrieverList } = useQuery(retrieversQuery);
  const hasNoRetrievers = retrieverList?.retrievers.length === 0;
  const allow = (kind: "model" | "tool" | "retrieval", isAllowed: boolean) => {
    const otherKinds = (policy.allow ?? ["model"]).filter((item) => item !== kind);
    onChange({ ...policy, allow: isAllowed ? [...otherKinds, kind] : otherKinds });
  };
  const budget = policy.budget ?? {};
  const setBudget = (change: SparsePolicy["budget"]) => onChange(withPart(policy, "budget", change ?? {}));
  return (
    <LazyDetails
      className={classes.policy}
      summary={
        <>
          <IconChevronRight size={13} aria-hidden /> <span>Policy</span>{" "}
          <span className="muted ellipsis">{words(policy, live, tools, searches)}</span>
        </>
      }
    >
      <div className={classes.policyBody}>
        <Switch
          checked={live}
          onChange={(event) => allow("model", event.currentTarget.checked)}
          label="Models may be called"
        />
        <Switch
          checked={tools}
          onChange={(event) => allow("tool", event.currentTarget.checked)}
          label="Reviewed tools may run"
          description={
            tools
              ? "Runs tools that are reviewed as safe and configured. Others are answered from recordings."
              : "No tool runs; their answers come from recordings or from you."
          }
        />
        <Switch
          checked={searches}
          disabled={hasNoRetrievers && !searches}
          onChange={(event) => allow("retrieval", event.currentTarget.checked)}
          label="Retrievers may be queried"
          description={searchWords(searches, retrieverList?.retrievers)}
        />
        <Choice
          label="When a recorded answer still matches"
          value={policy.order ?? "reuse"}
          options={[
            { value: "reuse", label: "Reuse it" },
            { value: "reexecute", label: "Call again" },
          ]}
          onChange={(order) => onChange({ ...policy, order })}
        />
        <Choice
          label="When no answer is available"
          value={policy.fallback ?? "simulate"}
          options={[
            { value: "simulate", label: "Use a placeholder" },
            { value: "fail", label: "Fail the replay" },
          ]}
          onChange={(fallback) => onChange({ ...policy, fallback })}
        />
        <Switch
          checked={policy.strict ?? false}
          onChange={(event) => onChange({ ...policy, strict: event.currentTarget.checked })}
          label="Strict"
          description="Refuse to run when any step would be simulated."
        />
        <div className={classes.pair}>
          <NumberInput
            label="Budget (USD)"
            prefix="$"
            min={0}
            step={0.1}
            placeholder="no limit"
            value={budget.max_cost_usd ?? ""}
            onChange={(value) => setBudget({ max_cost_usd: value === "" ? null : Number(value) })}
          />
          <NumberInput
            label="Max live calls"
            min={0}
            allowDecimal={false}
            placeholder="no limit"
            value={budget.max_live_calls ?? ""}
            onChange={(value) => setBudget({ max_live_calls: value === "" ? null : Number(value) })}
          />
        </div>
        <PolicyDetails policy={policy} onChange={onChange} />
        <SavedPolicies draft={draft} onChange={changeDraft} />
      </div>
    </LazyDetails>
  );
}

function searchWords(searches: boolean, retrievers: readonly RetrieverView[] | undefined): string {
  if (retrievers?.length === 0) return "No retriever is configured; documents come from recordings or from you.";
  if (!searches) return "No searches run; documents come from recordings or from you.";
  return `Changed searches run on ${(retrievers ?? []).map(({ name }) => name).join(", ")}.`;
}

function words(policy: SparsePolicy, live: boolean, tools: boolean, searches: boolean): string {
  return [
    live ? "models may be called" : !tools && !searches && "no live calls",
    tools && "reviewed tools may run",
    searches && "retrievers may be queried",
    policy.order === "reexecute" && "calls again",
    policy.fallback === "fail" && "no placeholders",
    policy.strict && "strict",
    policy.budget?.max_cost_usd != null && `≤ $${policy.budget.max_cost_usd}`,
    policy.budget?.max_live_calls != null && `≤ ${policy.budget.max_live_calls} calls`,
    ...details(policy),
  ]
    .filter(Boolean)
    .join(" · ");
}

function Choice<T extends string>(props: {
  label: string;
  value: T;
  options: { value: T; label: string }[];
  onChange: (value: T) => void;
}): ReactElement {
  return (
    <div className={classes.field}>
      <span className={classes.label}>{props.label}</span>
      <SegmentedControl
        fullWidth
        value={props.value}
        data={props.options}
        onChange={(value) => props.onChange(value)}
        aria-label={props.label}
      />
    </div>
  );
}
