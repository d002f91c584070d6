import { useDebouncedValue, useSessionStorage } from "@mantine/hooks";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useCallback, useMemo, useRef } from "react";
import { launch, planQuery } from "@/api/replays/forks";
import type { Engine, Plan } from "@/api/schema";
import { paths } from "@/app/paths";
import { valuesOf, type Variables } from "./engine/variables";
import { stepPlansOf, type StepPlans } from "../stepPlans";
import { toRequest, type Draft } from "@/domain/overrides/draft";
import { draftOfFork, otherForks, withDraft, withForkMoved } from "@/domain/overrides/drafts";
import { useDrafts } from "@/features/overrides/useDrafts";

export interface Fork {
  draft: Draft;
  change: (draft: Draft) => void;
  /** The steps of other forks that have changes. */
  otherForks: readonly number[];
  /** Fork from another step instead. */
  move: (step: number) => void;
  /** The one that the user chose, else the one of the plan. Undefined until the first plan is there. */
  engine: Engine | undefined;
  changeEngine: (engine: Engine) => void;
  variables: Variables;
  changeVariables: (variables: Variables) => void;
  plan: Plan | undefined;
  stepPlans: StepPlans | null;
  /** The displayed plan belongs to an earlier edit. */
  stale: boolean;
  error: Error | null;
  launch: () => void;
  launching: boolean;
  /** Why the last launch of these changes failed. */
  launchError: Error | null;
}

/** The fork being edited from a step, kept across reloads, with the plan for each edit. */
export function useFork(run: string, fork: number | null): Fork {
  const [drafts, changeDrafts] = useDrafts(run);
  const draft = draftOfFork(drafts, fork);
  const [choice, changeEngine] = useSessionStorage<Engine | "auto">({
    key: `fork-engine:${run}`,
    defaultValue: "auto",
    getInitialValueInEffect: false,
  });
  const [variables, changeVariables] = useSessionStorage<Variables>({
    key: `fork-variables:${run}`,
    defaultValue: {},
    getInitialValueInEffect: false,
  });
  const move = useCallback(
    (step: number) => {
      if (fork !== null) changeDrafts((current) => withForkMoved(current, fork, step));
    },
    [fork, changeDrafts],
  );
  const edit = useMemo(() => ({ fork, draft }), [fork, draft]);
  const [debouncedEdit] = useDebouncedValue(edit, 250);
  // The last edit of another fork says nothing about this one.
  const debouncedDraft = debouncedEdit.fork === fork ? debouncedEdit.draft : draft;
  const navigate = useNavigate();
  const lastLaunch = useRef({ request: "", key: "" });
  const query = useQuery({
    ...planQuery({ ...toRequest(run, fork ?? 1, debouncedDraft), engine: choice }),
    enabled: fork !== null,
  });
  const plan = fork === null ? undefined : query.data;
  const stale = draft !== debouncedDraft || query.isPlaceholderData || query.isFetching;
  const engine = choice === "auto" ? plan?.engine : choice;
  const start = useMutation({
    mutationFn: (draft: Draft) => {
      const agentVariables = engine === "agent" ? valuesOf(variables) : {};
      // The plan of an earlier edit may have another engine. Only an agent has variables.
      const launchEngine = Object.keys(agentVariables).length > 0 ? "agent" : stale || !engine ? choice : engine;
      const request = { ...toRequest(run, fork ?? 1, draft), engine: launchEngine, variables: agentVariables };
      // One key per request body: a second click or a retry after a lost response returns the same session.
      const text = JSON.stringify(request);
      if (lastLaunch.current.request !== text) lastLaunch.current = { request: text, key: crypto.randomUUID() };
      return launch(request, lastLaunch.current.key);
    },
    onSuccess: (session) => void navigate(paths.replay(session.id)),
  });
  const stepPlans = useMemo(() => plan && stepPlansOf(plan), [plan]);
  return {
    draft,
    change: (next) => {
      if (fork !== null) changeDrafts((current) => withDraft(current, fork, next));
    },
    otherForks: fork === null ? [] : otherForks(drafts, fork),
    move,
    engine,
    changeEngine,
    variables,
    changeVariables,
    plan,
    stepPlans: stepPlans ?? null,
    stale,
    error: query.error,
    launch: () => {
      if (!start.isPending) start.mutate(draft);
    },
    launching: start.isPending,
    launchError: start.variables === draft ? start.error : null,
  };
}
