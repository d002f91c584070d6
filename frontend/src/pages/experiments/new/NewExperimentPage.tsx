import { useSessionStorage } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { IconFlask } from "@tabler/icons-react";
import type { ReactElement } from "react";
import { providersQuery } from "@/api/replays/forks";
import { runQuery, stepQuery, stepsFromQuery } from "@/api/runs/runs";
import type { ProviderView, RunDetail, StepDetail } from "@/api/schema";
import { EmptyState } from "@/ui/EmptyState";
import { ErrorPage } from "@/app/ErrorPage";
import { removeEntry } from "@/domain/overrides/draft";
import { draftOfFork, withDraft } from "@/domain/overrides/drafts";
import { useDrafts } from "@/features/overrides/useDrafts";
import { OverrideChips } from "@/features/overrides/OverrideChips";
import { readModelInput, systemPrompt } from "@/domain/steps/content";
import { paths } from "@/app/paths";
import { AxesEditor } from "./AxesEditor";
import { ChecksEditor } from "@/features/checks/ChecksEditor";
import { Page, PageHeader, PageLoading } from "@/ui/Page";
import { firstDraft, RECORDED_VALUE, type MatrixDraft } from "./matrixDraft";
import { CostEstimate } from "./CostEstimate";
import { GridPreview } from "./GridPreview";
import { useExperimentPlan } from "./useExperimentPlan";
import classes from "../Experiments.module.css";
import { usePageTitle } from "@/ui/brand/usePageTitle";

const route = getRouteApi("/experiments/new");

/** Set up an experiment: axes, samples, checks and cost. */
export function NewExperimentPage(): ReactElement {
  usePageTitle("New experiment");
  const { run: ref, step: fork = 1 } = route.useSearch();
  const run = useQuery({ ...runQuery(ref ?? ""), enabled: ref !== undefined });
  const model = useFirstModel(run.data?.id, fork);
  const providers = useQuery(providersQuery);
  if (ref === undefined) {
    return (
      <EmptyState
        isPage
        icon={<IconFlask size={28} stroke={1.5} />}
        title="Choose a run first"
        action={<Link {...paths.runs()}>Go to runs</Link>}
      >
        Open a run, choose <b>Fork</b> at a step, and then <b>Experiment…</b> beside Replay.
      </EmptyState>
    );
  }
  const error = run.error ?? model.error ?? providers.error;
  if (error) return <ErrorPage error={error} onRetry={() => void run.refetch()} />;
  if (!run.data || !providers.data || model.pending) return <PageLoading name="the run" panels={[360]} />;
  return (
    <Builder
      key={`${run.data.id} ${fork}`}
      run={run.data}
      fork={fork}
      model={model.step}
      providers={providers.data.providers}
    />
  );
}

interface Props {
  run: RunDetail;
  fork: number;
  model: StepDetail | null;
  providers: readonly ProviderView[];
}

function Builder({ run, fork, model, providers }: Props): ReactElement {
  const names = modelNames(model, providers);
  const [draft, change] = useSessionStorage<MatrixDraft>({
    key: `experiment:${run.id}:${fork}`,
    defaultValue: firstDraft(names.filter((name) => model !== null && name.startsWith(`${model.provider}: `))),
    getInitialValueInEffect: false,
  });
  // The fork panel's draft for this step is the base of every row.
  const [drafts, changeDrafts] = useDrafts(run.id);
  const base = draftOfFork(drafts, fork);
  const input = model ? readModelInput(model.input) : null;
  const estimate = useExperimentPlan(run.id, fork, base, draft);
  return (
    <Page>
      <PageHeader
        crumbs={[
          <Link {...paths.activity({ kind: "experiment" })}>Activity</Link>,
          <Link {...paths.run(run.id, { step: fork, fork })}>{run.name}</Link>,
        ]}
        title={`New experiment from step ${fork}`}
      />
      <div className={classes.builder}>
        <div className={classes.column}>
          {base.overrides.length > 0 && (
            <section className={`panel ${classes.card}`} aria-label="In every row">
              <h2>In every row</h2>
              <OverrideChips
                draft={base}
                refusals={[]}
                onRemove={(index) => changeDrafts(withDraft(drafts, fork, removeEntry(base, index)))}
                onSelect={() => undefined}
              />
            </section>
          )}
          <AxesEditor draft={draft} onChange={change} models={names} system={(input && systemPrompt(input)) ?? ""} />
          <section className={`panel ${classes.card}`} aria-label="Checks">
            <div className={classes.cardHead}>
              <h2>Checks</h2>
              <span className="muted grow">A replay passes if it passes all of them.</span>
            </div>
            <ChecksEditor checks={draft.checks} onChange={(checks) => change({ ...draft, checks })} />
          </section>
          <GridPreview draft={draft} plan={estimate.problem || estimate.isStale ? undefined : estimate.plan} />
        </div>
        <CostEstimate app={run.app} estimate={estimate} draft={draft} onChange={change} />
      </div>
    </Page>
  );
}

/** All configured models with their providers, and the recorded one. */
function modelNames(model: StepDetail | null, providers: readonly ProviderView[]): string[] {
  const models = providers.flatMap(({ name, models }) => models.map((model) => `${name}: ${model}`));
  const recordedModel = model && `${model.provider}: ${model.model}`;
  const first = models.filter((name) => name === recordedModel);
  return [...first, ...models.filter((name) => name !== recordedModel), RECORDED_VALUE];
}

/** The first model call from the fork on. */
function useFirstModel(
  run: string | undefined,
  fork: number,
): { step: StepDetail | null; pending: boolean; error: Error | null } {
  const steps = useQuery({ ...stepsFromQuery(run ?? "", fork), enabled: run !== undefined });
  const firstModelStep = steps.data?.steps.find(({ type }) => type === "model");
  const step = useQuery({ ...stepQuery(firstModelStep?.id ?? ""), enabled: firstModelStep !== undefined });
  const pending = steps.isPending || (firstModelStep !== undefined && step.isPending);
  return { step: step.data ?? null, pending, error: steps.error ?? step.error };
}
