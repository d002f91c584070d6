import { lazy, Suspense, type ReactElement } from "react";
import { loadPart } from "@/api/connection/loadPart";
import classes from "./Comments.module.css";
import { useComments } from "./commentsContext";

const Discussion = lazy(() => loadPart(() => import("./Discussion")));

/** The comments on a step of the run. */
export function StepComments({ step }: { step: number }): ReactElement | null {
  const page = useComments();
  if (!page) return null;
  return (
    <div className={classes.step}>
      <h2>Comments</h2>
      <Suspense>
        <Discussion key={step} page={page} anchor={{ step }} subjectWords={`step ${step}`} />
      </Suspense>
    </div>
  );
}
