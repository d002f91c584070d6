import { Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";
import { accessQuery } from "@/api/access";
import { sessionQuery } from "@/api/replays/replays";
import { runQuery, stepQuery, stepsQuery } from "@/api/runs/runs";
import type { SessionView, StepSummary } from "@/api/schema";
import { draftOf } from "@/domain/overrides/draft";
import { readModelInput, systemPrompt } from "@/domain/steps/content";
import { ErrorState } from "@/ui/ErrorState";
import { ForkSide } from "./ForkSide";
import { RunSide } from "./RunSide";
import { storyOf } from "./story";
import { Track } from "./Track";
import classes from "./Tour.module.css";
import { useTourReplay } from "./useTourReplay";

const NO_STEPS: readonly StepSummary[] = [];

/** The failed run at the left, its fork at the right, and its steps below. */
export function Tour({ runId, sessionId }: { runId: string; sessionId: string }): ReactElement {
  const [session, setSession] = useState<SessionView | null>(null);
  const run = useQuery(runQuery(runId));
  const { data: steps = NO_STEPS } = useQuery(stepsQuery(runId));
  const { data: fix } = useQuery(sessionQuery(sessionId));
  const { data: access } = useQuery(accessQuery);
  const fork = fix?.fork_sequence_no ?? 0;
  const recordedPrompt = useRecordedPrompt(steps.find((step) => step.sequence_no === fork));
  const replay = useTourReplay(session, steps.length);
  if (run.isError) return <ErrorState error={run.error} onRetry={() => void run.refetch()} />;
  if (!run.data || !fix || recordedPrompt === null) return <TourSkeleton />;
  return (
    <section className={`panel ${classes.stage}`} aria-label="The failed run and its fork">
      <RunSide story={storyOf(run.data, steps)} />
      <ForkSide
        runId={runId}
        fork={fork}
        fix={draftOf(fix.overrides.overrides, fix.policy)}
        recordedPrompt={recordedPrompt}
        mayReplay={access?.role !== "viewer"}
        replay={replay}
        onLaunch={setSession}
      />
      <Track steps={steps} fork={fork} replay={replay} />
    </section>
  );
}

/** The system prompt of a model step as recorded. Null until it is read. */
function useRecordedPrompt(step: StepSummary | undefined): string | null {
  const { data } = useQuery({ ...stepQuery(step?.id ?? ""), enabled: step !== undefined });
  if (!data) return null;
  const input = readModelInput(data.input);
  return (input && systemPrompt(input)) ?? "";
}

function TourSkeleton(): ReactElement {
  return <Skeleton height={460} radius="md" aria-label="Loading the tour" aria-busy="true" />;
}
