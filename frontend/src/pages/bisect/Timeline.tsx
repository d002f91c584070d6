import { Link } from "@tanstack/react-router";
import { IconCircleCheckFilled, IconCircleDashed, IconCircleDotted, IconCircleXFilled } from "@tabler/icons-react";
import type { CSSProperties, ReactElement } from "react";
import type { BisectionView, TallyView } from "@/api/schema";
import { pluralize } from "@/ui/format/numbers";
import { paths } from "@/app/paths";
import { stepsAfterLast, triedSteps, type TriedStep, type Zone } from "./timeline";
import classes from "./Timeline.module.css";

type Verdict = keyof Pick<TallyView, "passed" | "failed" | "unclear" | "running">;

const DOTS = {
  passed: { words: "passed", Icon: IconCircleCheckFilled },
  failed: { words: "failed", Icon: IconCircleXFilled },
  unclear: { words: "undecided", Icon: IconCircleDashed },
  running: { words: "running", Icon: IconCircleDotted },
} as const;
const VERDICTS = Object.keys(DOTS) as Verdict[];

/** Every tried step as a column of dots, in the order of the run: one dot for each replay from that step on. */
export function Timeline({ view }: { view: BisectionView }): ReactElement {
  const steps = triedSteps(view);
  const { commit } = view.result;
  if (steps.length === 0) return <p className={classes.none}>No step has been tried yet.</p>;
  const endZone: Zone = !commit ? "unknown" : commit.kept ? "after" : "interval";
  return (
    <>
      <div className={classes.scroll} tabIndex={0} role="group" aria-label="Tried steps, scrollable">
        <ol className={classes.line}>
          {steps.map((step) => (
            <Column key={step.fork.step.sequence_no} view={view} place={step} />
          ))}
          <li className={classes.place} data-role="recording">
            <Gap skippedSteps={stepsAfterLast(view)} zone={endZone} />
            <div className={classes.column} data-zone={endZone === "interval" ? "end" : undefined}>
              <span className={classes.dots} data-verdict="failed">
                <IconCircleXFilled size={14} aria-hidden />
              </span>
              <b className={classes.step}>recording</b>
              <span className={classes.counts}>failed</span>
            </div>
          </li>
        </ol>
      </div>
      <p className={classes.key} aria-hidden>
        {VERDICTS.filter((verdict) => verdict !== "running" || view.status === "running").map((verdict) => (
          <span key={verdict} data-verdict={verdict}>
            <Dot verdict={verdict} /> {DOTS[verdict].words}
          </span>
        ))}
        {commit && (
          <span>
            <i /> the run is lost within this interval
          </span>
        )}
      </p>
    </>
  );
}

const ZONES: Record<NonNullable<TriedStep["role"]>, string | undefined> = {
  commit: "start",
  kept: "end",
  earliest: undefined,
};

function Column({ view, place }: { view: BisectionView; place: TriedStep }): ReactElement {
  const { fork, role, skippedSteps, gapZone } = place;
  const number = fork.step.sequence_no;
  const isSettled = view.result.commit?.settled === true;
  return (
    <li className={classes.place} data-role={role ?? undefined}>
      <Gap skippedSteps={skippedSteps} zone={gapZone} />
      <div className={classes.column} data-zone={role ? ZONES[role] : undefined}>
        {role === "commit" && (
          <span className={classes.marker}>{isSettled ? "Point of no return" : "Point of no return, or later"}</span>
        )}
        <Dots counts={fork.counted} />
        <Link {...paths.run(view.run, { step: number })} className={classes.step} title={fork.step.name}>
          step {number}
        </Link>
        <span className={classes.counts}>{countWords(fork.counted)}</span>
      </div>
    </li>
  );
}

function Gap({ skippedSteps, zone }: { skippedSteps: number; zone: Zone }): ReactElement | null {
  if (skippedSteps === 0) return null;
  return (
    <span className={classes.gap} data-zone={zone} style={{ "--steps": skippedSteps } as CSSProperties}>
      <span>{pluralize(skippedSteps, "step")} not tried</span>
    </span>
  );
}

// More dots in a column say no more than the numbers below it.
const MAX_DOTS = 10;

function Dots({ counts }: { counts: TallyView }): ReactElement {
  const dots = VERDICTS.flatMap((verdict) => Array<Verdict>(counts[verdict]).fill(verdict));
  return (
    <span className={classes.dots} aria-hidden>
      {dots.slice(0, MAX_DOTS).map((verdict, index) => (
        <span key={index} data-verdict={verdict}>
          <Dot verdict={verdict} />
        </span>
      ))}
    </span>
  );
}

function Dot({ verdict }: { verdict: Verdict }): ReactElement {
  const { Icon } = DOTS[verdict];
  return <Icon size={14} aria-hidden />;
}

function countWords(counts: TallyView): string {
  return VERDICTS.filter((verdict) => counts[verdict] > 0)
    .map((verdict) => `${counts[verdict]} ${DOTS[verdict].words}`)
    .join(", ");
}
