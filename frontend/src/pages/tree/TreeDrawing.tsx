import type { ReactElement } from "react";
import type { TreeRun } from "@/api/schema";
import { score } from "@/domain/diffs/score";
import { RunOutcome } from "@/features/runs/RunOutcome";
import { RunLink } from "@/features/share/RunLink";
import { lastStep, linesOf, treeTitle, type Line } from "./tree";
import classes from "./Tree.module.css";

/** Tall enough for touch. */
const ROW = 24;
const WIDE = 1000;

/** Every run as a line over step numbers, branching from its source at the fork. The table has the same data. */
export function TreeDrawing({
  runs,
  currentRun,
}: {
  runs: readonly TreeRun[];
  currentRun: string | null;
}): ReactElement {
  const lines = linesOf(runs);
  const scale = WIDE / lastStep(runs);
  return (
    <div className={classes.drawing} tabIndex={0} role="group" aria-label="The tree, scrollable">
      <svg
        className={classes.lines}
        viewBox={`0 0 ${WIDE} ${lines.length * ROW}`}
        height={lines.length * ROW}
        preserveAspectRatio="none"
        aria-hidden
      >
        {lines.map((line) => (
          <Branch key={line.run.id} line={line} scale={scale} />
        ))}
      </svg>
      <ol className={classes.names}>
        {lines.map(({ run }) => (
          <li key={run.id} data-asked={run.id === currentRun || undefined}>
            <RunOutcome run={run} />
            <RunLink run={run.id} className="ellipsis" title={treeTitle(run)}>
              {treeTitle(run)}
            </RunLink>
            <span className="num muted">{run.ars === null ? "" : score(run.ars)}</span>
          </li>
        ))}
      </ol>
    </div>
  );
}

function Branch({ line, scale }: { line: Line; scale: number }): ReactElement {
  const y = (line.row + 0.5) * ROW;
  const x = (step: number) => (step - 1) * scale;
  return (
    <g>
      {line.parentRow !== null && (
        <path d={`M ${x(line.start)} ${(line.parentRow + 0.5) * ROW} V ${y}`} className={classes.branch} />
      )}
      {line.segments.map(({ mark, start, end }) => (
        <path key={mark} d={`M ${x(start)} ${y} H ${x(end)}`} className={classes.segment} data-mark={mark} />
      ))}
      {line.run.outcome === "failed" && (
        <path
          d={`M ${x(line.segments.at(-1)?.end ?? line.run.steps + 1)} ${y - 5} V ${y + 5}`}
          className={classes.segment}
          data-mark="failed"
        />
      )}
    </g>
  );
}
