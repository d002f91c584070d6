import { useDebouncedValue, useSessionStorage } from "@mantine/hooks";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useMemo, useRef } from "react";
import { launch, planQuery } from "@/api/replays/forks";
import type { Engine, Plan } from "@/api/schema";
import { paths } from "@/app/paths";
import { valuesOf, type Variables } from "./engine/variables";
import { stepPlansOf, type StepPlans } from "../stepPlans";
import { emptyDraft, toRequest, type Draft } from "@/domain/overrides/draft";

export interface Fork {
  draft: Draft;
  change: (draft: Draft) => void;
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
}

/** The fork being edited, kept across reloads, with the plan for each edit. */
export function useFork(run: string, fork: number | null): Fork {
  const [draft, change] = useSessionStorage<Draft>({
    key: `fork:${run}`,
    defaultValue: emptyDraft,
    getInitialValueInEffect: false,
  });
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
  const [debouncedDraft] = useDebouncedValue(draft, 250);
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
    mutationFn: () => {
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
    onError: (error) => notifications.show({ title: "The replay did not start", message: error.message, color: "red" }),
  });
  const stepPlans = useMemo(() => plan && stepPlansOf(plan), [plan]);
  return {
    draft,
    change,
    engine,
    changeEngine,
    variables,
    changeVariables,
    plan,
    stepPlans: stepPlans ?? null,
    stale,
    error: query.error,
    launch: () => {
      if (!start.isPending) start.mutate();
    },
    launching: start.isPending,
  };
}
