import { Button, Loader, NumberInput, Select } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { IconFlask } from "@tabler/icons-react";
import { useState, type ReactElement } from "react";
import { proofPlanQuery } from "@/api/diffs/proofs";
import type { ProofPlan } from "@/api/schema";
import { isOutcomeQuestion } from "@/domain/checks/passQuestion";
import { ChecksEditor } from "@/features/checks/ChecksEditor";
import { OutcomeFields } from "@/features/checks/OutcomeFields";
import { EngineChoice } from "@/features/runners/engine/EngineChoice";
import { useOnlineRunners } from "@/features/runners/engine/useOnlineRunners";
import { useRoleObstacle } from "@/features/runners/engine/useRoleObstacle";
import { BlockableButton } from "@/ui/buttons/BlockableButton";
import { LazyDetails } from "@/ui/LazyDetails";
import { needsChecks, FIRST_DRAFT, toProof, draftProblem, type ProofDraft } from "../draft";
import { PlanFacts, PlanRemarks, testCount } from "./PlanSummary";
import { useProof } from "../useProof";
import { planWords, QUESTIONS, type QuestionKind } from "../wording";
import classes from "./ProveDialog.module.css";
import { Dialog } from "@/ui/Dialog";
import { failureWords } from "@/ui/failure/failure";

interface Props {
  diff: string;
  app: string;
  onClose: () => void;
}

/** Set up a proof: what it does in one sentence, its price, and a button. The rest is folded. */
export function ProveDialog({ diff, app, onClose }: Props): ReactElement {
  const [draft, setDraft] = useState<ProofDraft>(FIRST_DRAFT);
  const problem = draftProblem(draft);
  const runsAgent = draft.engine === "agent";
  const runners = useOnlineRunners(runsAgent ? app : null);
  const [debouncedRequest] = useDebouncedValue(toProof(draft), 300);
  const {
    data: plan,
    error,
    isFetching,
  } = useQuery({
    ...proofPlanQuery(diff, debouncedRequest),
    enabled: problem === null,
  });
  const isStale = isFetching || JSON.stringify(debouncedRequest) !== JSON.stringify(toProof(draft));
  const plannedCalls = plan?.live_calls ?? 0;
  const start = useProof(diff, toProof(draft, plannedCalls), onClose);
  const roleObstacle = useRoleObstacle();
  const hasNoRunner = runsAgent && !runners?.length;
  const isBlocked =
    roleObstacle !== null || problem !== null || !plan || error !== null || plan.refusals.length > 0 || hasNoRunner;
  return (
    <Dialog onClose={onClose} title="Prove it" size="lg">
      <div className={classes.body}>
        <p>
          Forkpoint replays the base with {testCount(plan) > 1 ? "each change alone" : "only the change"}, and the
          candidate without it, to see which answer each gives.{!runsAgent && " No side effect is repeated."}
        </p>
        <EngineChoice
          app={app}
          engine={draft.engine}
          runners={runners}
          onChange={(engine) => setDraft({ ...draft, engine })}
          following="The recordings show what the agent's code makes of an answer. Where they do not, a test stays open."
          tools={plan?.unintercepted_tools}
        />
        {!problem && error && (
          <p className="failed" role="alert">
            {failureWords(error)}
          </p>
        )}
        {!problem && plan && !error && <PlanRemarks plan={plan} allowedCalls={draft.liveCalls ?? plannedCalls} />}
        <LazyDetails className={classes.advanced} summary="Advanced">
          <div className={classes.fields}>
            <Question draft={draft} onChange={setDraft} />
            <Limits draft={draft} onChange={setDraft} plan={plan} />
            {!problem && plan && !error && <PlanFacts plan={plan} />}
          </div>
        </LazyDetails>
        <div className={classes.actions}>
          <span className="muted num grow" aria-busy={isStale} aria-live="polite">
            {roleObstacle ?? problem ?? (plan && plan.refusals.length === 0 ? planWords(plan) : "")}{" "}
            {isStale && problem === null && <Loader size={11} role="img" aria-label="Planning" />}
          </span>
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          {/* Not disabled while the price loads: a disabled button cannot be focused when the dialog opens. */}
          <BlockableButton
            data-autofocus
            leftSection={<IconFlask size={14} />}
            isBlocked={isBlocked}
            loading={start.isPending}
            onClick={() => start.mutate()}
          >
            Prove it
          </BlockableButton>
        </div>
      </div>
    </Dialog>
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
