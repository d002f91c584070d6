import type { ReactElement } from "react";
import type { TreeRun } from "@/api/schema";
import { markWord } from "@/domain/steps/labels";
import { lineOf } from "./tree";
import classes from "./Tree.module.css";

const WIDTH = 1000;
const HEIGHT = 20;
const MIDDLE = HEIGHT / 2;

/** A run as a line over step numbers: dashed as far as its source goes, then by label. A failed run ends in red. */
export function StepLine({ run, end }: { run: TreeRun; end: number }): ReactElement {
  const { start, segments } = lineOf(run);
  const x = (step: number) => ((step - 1) / (end - 1)) * (WIDTH - 4);
  const words = segments.map(({ mark, start, end }) => `${end - start} ${markWord[mark]}`).join(", ") || "no steps";
  return (
    <svg
      className={classes.line}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={run.parent === null ? words : `from step ${start}: ${words}`}
    >
      {start > 1 && <path d={`M 0 ${MIDDLE} H ${x(start)}`} className={classes.inherited} />}
      {segments.map(({ mark, start, end }) => (
        <path key={mark} d={`M ${x(start)} ${MIDDLE} H ${x(end)}`} className={classes.segment} data-mark={mark} />
      ))}
      {run.outcome === "failed" && (
        <path
          d={`M ${x(segments.at(-1)?.end ?? run.steps + 1)} ${MIDDLE - 6} V ${MIDDLE + 6}`}
          className={classes.segment}
          data-mark="failed"
        />
      )}
    </svg>
  );
}
