import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { experimentPlanQuery, type SparseExperiment } from "@/api/replays/experiments";
import type { ExperimentPlan } from "@/api/schema";
import type { Draft } from "@/domain/overrides/draft";
import { draftProblem, toExperiment, type MatrixDraft } from "./matrixDraft";

export interface ExperimentEstimate {
  request: SparseExperiment;
  /** Why the draft cannot be sent, in one sentence. */
  problem: string | null;
  plan: ExperimentPlan | undefined;
  error: Error | null;
  /** The plan is that of an earlier draft. */
  isStale: boolean;
}

/** The plan of a draft, requested again after each pause in editing. */
export function useExperimentPlan(run: string, fork: number, base: Draft, draft: MatrixDraft): ExperimentEstimate {
  const problem = draftProblem(draft);
  const request = toExperiment(run, fork, base, draft);
  const [debouncedRequest] = useDebouncedValue(request, 300);
  const { data, error, isFetching } = useQuery({ ...experimentPlanQuery(debouncedRequest), enabled: problem === null });
  const isStale = JSON.stringify(debouncedRequest) !== JSON.stringify(request) || isFetching;
  return { request, problem, plan: data, error, isStale };
}
