import { Button, Loader, Modal, NumberInput, Select } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { IconFlask } from "@tabler/icons-react";
import { useState, type ReactElement, type ReactNode } from "react";
import { proofPlanQuery } from "@/api/diffs/proofs";
import type { ProofPlan } from "@/api/schema";
import { isOutcomeQuestion } from "@/domain/checks/passQuestion";
import { ChecksEditor } from "@/features/checks/ChecksEditor";
import { OutcomeFields } from "@/features/checks/OutcomeFields";
import { LazyDetails } from "@/ui/LazyDetails";
import { count, pluralize, money } from "@/ui/format/numbers";
import { sentence } from "@/ui/format/text";
import { needsChecks, FIRST_DRAFT, toProof, draftProblem, type ProofDraft } from "./draft";
import { useProof } from "./useProof";
import { QUESTIONS, type QuestionKind } from "./wording";
import classes from "./ProveDialog.module.css";

interface Props {
  diff: string;
  onClose: () => void;
}

/** Set up a proof: question, limits, and the estimated cost before anything runs. */
export function ProveDialog({ diff, onClose }: Props): ReactElement {
  const [draft, setDraft] = useState<ProofDraft>(FIRST_DRAFT);
  const problem = draftProblem(draft);
  const [debouncedRequest] = useDebouncedValue(toProof(draft), 300);
  const plan = useQuery({ ...proofPlanQuery(diff, debouncedRequest), enabled: problem === null });
  const stale = plan.isFetching || JSON.stringify(debouncedRequest) !== JSON.stringify(toProof(draft));
  const plannedCalls = plan.data?.live_calls ?? 0;
  const start = useProof(diff, toProof(draft, plannedCalls), onClose);
  const isBlocked = problem !== null || !plan.data || plan.error !== null || plan.data.refusals.length > 0;
  return (
    <Modal opened onClose={onClose} title="Prove it" size="lg" closeButtonProps={{ "aria-label": "Close" }}>
      <div className={classes.body}>
        <p>
          Did this change do it? Forkpoint replays the base with only the change and the candidate without it, and
          compares the answers. Everything else comes from the recordings; no side effect is repeated.
        </p>
        <Question draft={draft} onChange={setDraft} />
        <div className={classes.outlook} aria-busy={stale}>
          <div className="bar">
            <h2>Estimate</h2>
            {stale && problem === null && <Loader size={11} role="img" aria-label="Planning" />}
          </div>
          {problem && <p className="muted">{problem}</p>}
          {!problem && plan.error && (
            <p className="failed" role="alert">
              {plan.error.message}
            </p>
          )}
          {!problem && plan.data && !plan.error && (
            <PlanSummary plan={plan.data} allowedCalls={draft.liveCalls ?? plannedCalls} />
          )}
        </div>
        <LazyDetails className={classes.limitDetails} summary="Limits">
          <Limits draft={draft} onChange={setDraft} plan={plan.data} />
        </LazyDetails>
        <div className={classes.actions}>
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button
            leftSection={<IconFlask size={14} />}
            disabled={isBlocked}
            loading={start.isPending}
            onClick={() => start.mutate()}
          >
            Prove it
          </Button>
        </div>
      </div>
    </Modal>
  );
}

type Edit = (draft: ProofDraft) => void;

function Question({ draft, onChange }: { draft: ProofDraft; onChange: Edit }): ReactElement {
  return (
    <div className={classes.question}>
      <Select
        label="What should the proof explain?"
        description={QUESTIONS[draft.question].hint}
        data={Object.entries(QUESTIONS).map(([value, { label }]) => ({ value, label }))}
        value={draft.question}
        allowDeselect={false}
        onChange={(question) => question && onChange({ ...draft, question: question as QuestionKind })}
      />
      {needsChecks(draft.question) && (
        <ChecksEditor checks={draft.checks} onChange={(checks) => onChange({ ...draft, checks })} />
      )}
      {isOutcomeQuestion(draft.question) && (
        <OutcomeFields
          question={draft.question}
          choice={draft.choice}
          onChoice={(choice) => onChange({ ...draft, choice })}
          checks={draft.checks}
          onChecks={(checks) => onChange({ ...draft, checks })}
        />
      )}
    </div>
  );
}

function Limits(props: { draft: ProofDraft; onChange: Edit; plan: ProofPlan | undefined }): ReactElement {
  const { draft, onChange, plan } = props;
  const wholeNumber = { allowDecimal: false, allowNegative: false } as const;
  return (
    <div className={classes.limits}>
      <NumberInput
        label="Max replays"
        {...wholeNumber}
        min={1}
        max={5000}
        value={draft.probes}
        onChange={(value) => onChange({ ...draft, probes: Math.max(1, Number(value) || 1) })}
      />
      <NumberInput
        label="Max live calls"
        {...wholeNumber}
        min={0}
        value={draft.liveCalls ?? plan?.live_calls ?? ""}
        onChange={(value) => onChange({ ...draft, liveCalls: value === "" ? null : Number(value) })}
      />
      <NumberInput
        label="Budget (USD)"
        prefix="$"
        min={0}
        step={0.1}
        placeholder="no limit"
        disabled={draft.liveCalls === 0}
        value={draft.maxCost ?? ""}
        onChange={(value) => onChange({ ...draft, maxCost: value === "" ? null : Number(value) })}
      />
      {plan?.sampled && (
        <NumberInput
          label="Repeats per side"
          {...wholeNumber}
          min={0}
          max={50}
          value={draft.repeats}
          onChange={(value) => onChange({ ...draft, repeats: Math.min(50, Number(value) || 0) })}
        />
      )}
    </div>
  );
}

/** The estimate first, then what replays cannot test and why. */
function PlanSummary({ plan, allowedCalls }: { plan: ProofPlan; allowedCalls: number }): ReactNode {
  if (plan.refusals.length > 0) {
    return plan.refusals.map((refusal) => (
      <p key={refusal.where + refusal.detail} className="failed" role="alert">
        {sentence(refusal.detail)}
      </p>
    ));
  }
  const tests = plan.atoms.filter(({ testable, certificate }) => testable && !certificate).length;
  const certificates = plan.atoms.filter(({ certificate }) => certificate).length;
  return (
    <>
      <dl className={classes.outcomes}>
        <dt>Base</dt>
        <dd>{plan.base_outcome}</dd>
        <dt>Candidate</dt>
        <dd>{plan.candidate_outcome}</dd>
      </dl>
      {!plan.differs && (
        <p className="muted">Both runs have the same outcome under this check, so there is nothing to prove.</p>
      )}
      <dl className={`${classes.facts} num`}>
        <dt>Changes to test</dt>
        <dd>
          {count(tests)}
          {certificates > 0 && <span className="muted"> and {count(certificates)} ruled out</span>}
        </dd>
        <dt>Replays (about)</dt>
        <dd>
          {count(plan.probes)}
          {plan.repeats > 0 && (
            <span className="muted"> and {pluralize(plan.repeats, "repeat")} to rule out chance</span>
          )}
        </dd>
        <dt>Live calls (at most)</dt>
        <dd>{count(plan.live_calls)}</dd>
        <dt>Cost</dt>
        <dd>
          <b>{plan.live_calls === 0 ? "free" : plan.cost_usd === null ? "unknown" : `≤ ${money(plan.cost_usd)}`}</b>
        </dd>
      </dl>
      {plan.live_calls > allowedCalls && (
        <p className="simulated">
          {allowedCalls === 0 ? "No live call is allowed" : `Only ${pluralize(allowedCalls, "live call")} allowed`}:
          tests that the recordings cannot answer stay open.
        </p>
      )}
      {[...plan.warnings, ...plan.missing].map((line) => (
        <p key={line} className="muted">
          {line}
        </p>
      ))}
    </>
  );
}
