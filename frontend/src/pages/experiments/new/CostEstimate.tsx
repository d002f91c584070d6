import { Loader, NumberInput, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { IconPlayerPlay } from "@tabler/icons-react";
import { useRef, type ReactElement } from "react";
import { startExperiment } from "@/api/replays/experiments";
import type { ExperimentPlan } from "@/api/schema";
import { EngineChoice } from "@/features/runners/engine/EngineChoice";
import { useOnlineRunners } from "@/features/runners/engine/useOnlineRunners";
import { useRoleObstacle } from "@/features/runners/engine/useRoleObstacle";
import { BlockableButton } from "@/ui/buttons/BlockableButton";
import { count, pluralize, money, tokens } from "@/ui/format/numbers";
import { Keys } from "@/ui/keyboard/Kbd";
import { sentence } from "@/ui/format/text";
import { paths } from "@/app/paths";
import { useShortcuts } from "@/ui/keyboard/shortcuts";
import { failureWords, showFailure } from "@/ui/failure/failure";
import { rowCount, type MatrixDraft } from "./matrixDraft";
import type { ExperimentEstimate } from "./useExperimentPlan";
import classes from "../Experiments.module.css";

interface Props {
  app: string;
  estimate: ExperimentEstimate;
  draft: MatrixDraft;
  onChange: (draft: MatrixDraft) => void;
}

/** Samples, limits, and the estimated cost before anything runs. */
export function CostEstimate({ app, estimate, draft, onChange }: Props): ReactElement {
  const navigate = useNavigate();
  const { request, problem, plan, error, isStale } = estimate;
  const runsAgent = draft.engine === "agent";
  const runners = useOnlineRunners(runsAgent ? app : null);
  const lastRequest = useRef({ text: "", key: "" });
  const start = useMutation({
    mutationFn: () => {
      // One key per request body: a second click or a retry after a lost response returns the same experiment.
      const text = JSON.stringify(request);
      if (lastRequest.current.text !== text) lastRequest.current = { text, key: crypto.randomUUID() };
      return startExperiment(request, lastRequest.current.key);
    },
    onSuccess: (view) => void navigate(paths.experiment(view.id)),
    onError: (error) => showFailure("The experiment did not start", error),
  });
  const roleObstacle = useRoleObstacle();
  const hasNoRunner = runsAgent && !runners?.length;
  const isBlocked =
    problem !== null || error !== null || (plan?.refusals.length ?? 0) > 0 || hasNoRunner || roleObstacle !== null;
  const launch = () => {
    if (!isBlocked && !start.isPending) start.mutate();
  };
  useShortcuts("New experiment", [
    { keys: "mod+Enter", action: "Start the experiment", run: launch, whileTyping: true },
  ]);
  return (
    <section className={`panel ${classes.card} ${classes.price}`} aria-label="Estimated cost" aria-busy={isStale}>
      <TextInput
        label="Name"
        placeholder="Named after its axes"
        maxLength={200}
        value={draft.name}
        onChange={(event) => onChange({ ...draft, name: event.currentTarget.value })}
      />
      <Limits draft={draft} onChange={onChange} />
      <EngineChoice
        app={app}
        engine={draft.engine}
        runners={runners}
        onChange={(engine) => onChange({ ...draft, engine })}
        tools={plan?.unintercepted_tools}
      />
      <div className="bar">
        <h2>Estimated cost</h2>
        {isStale && problem === null && <Loader size={11} role="img" aria-label="Planning" />}
      </div>
      {roleObstacle && <p className="failed">{roleObstacle}</p>}
      {problem ? (
        <p className="failed" role="alert">
          {problem}
        </p>
      ) : (
        <>
          {error && !hasNoRunner && (
            <p className="failed" role="alert">
              {failureWords(error)}
            </p>
          )}
          {plan && !error && <PlanSummary plan={plan} />}
        </>
      )}
      <div className={classes.start}>
        <b className="num grow">{plan && !error && !problem ? priceOf(plan) : ""}</b>
        <BlockableButton
          leftSection={<IconPlayerPlay size={14} />}
          rightSection={<Keys keys="mod+Enter" />}
          isBlocked={isBlocked}
          loading={start.isPending}
          onClick={launch}
        >
          Start {pluralize(rowCount(draft), "replay")}
        </BlockableButton>
      </div>
    </section>
  );
}

function Limits({ draft, onChange }: Pick<Props, "draft" | "onChange">): ReactElement {
  const number = (value: string | number) => (value === "" ? null : Number(value));
  return (
    <>
      <NumberInput
        label="Samples per combination"
        min={1}
        max={50}
        allowDecimal={false}
        value={draft.samples}
        onChange={(value) => onChange({ ...draft, samples: Math.min(50, Math.max(1, Number(value) || 1)) })}
      />
      <div className={classes.pair}>
        <NumberInput
          label="Budget (USD)"
          prefix="$"
          min={0}
          step={0.1}
          placeholder="no limit"
          value={draft.maxCost ?? ""}
          onChange={(value) => onChange({ ...draft, maxCost: number(value) })}
        />
        <NumberInput
          label="Max live calls"
          min={0}
          allowDecimal={false}
          placeholder="no limit"
          value={draft.maxCalls ?? ""}
          onChange={(value) => onChange({ ...draft, maxCalls: number(value) })}
        />
      </div>
    </>
  );
}

function priceOf(plan: ExperimentPlan): string {
  if (plan.live_calls === 0) return "free";
  return plan.cost_usd === null ? "cost unknown" : `≤ ${money(plan.cost_usd)}`;
}

function PlanSummary({ plan }: { plan: ExperimentPlan }): ReactElement {
  return (
    <>
      <dl className={classes.facts}>
        <dt>Replays</dt>
        <dd>{count(plan.rows)}</dd>
        {plan.agent_starts > 0 && (
          <>
            <dt>Starts of the agent</dt>
            <dd>{count(plan.agent_starts)}</dd>
          </>
        )}
        <dt>Live calls (about)</dt>
        <dd>{count(plan.live_calls)}</dd>
        <dt>Tokens (about)</dt>
        <dd>{plan.tokens === 0 && plan.live_calls > 0 ? <b>unknown</b> : tokens(plan.tokens)}</dd>
      </dl>
      {plan.refusals.map((refusal) => (
        <p key={refusal.where + refusal.detail} className="failed" role="alert">
          {sentence(refusal.detail)}
        </p>
      ))}
      {plan.warnings.map((warning) => (
        <p key={warning} className="muted">
          {sentence(warning)}
        </p>
      ))}
    </>
  );
}
