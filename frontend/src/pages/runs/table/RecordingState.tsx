import type { ReactElement } from "react";
import type { RunSummary } from "@/api/schema";
import { LabelGlyph } from "@/features/labels/LabelGlyph";
import classes from "./RunsTable.module.css";

/** Whether a run still arrives, and whether its recording has a problem. */
export function RecordingState({ run }: { run: RunSummary }): ReactElement {
  const state = run.problem ? "problem" : run.sealed ? "recorded" : "under way";
  return (
    <span className={`muted ${classes.recorded}`} title={run.problem || undefined}>
      <LabelGlyph mark="live" silent /> <span className={run.problem && "simulated"}>{state}</span>
    </span>
  );
}
