import { useEffect, useRef, type ReactElement } from "react";
import type { StepSummary } from "@/api/schema";
import { markOf, markWord } from "@/domain/steps/labels";
import { TOUR_STAGES } from "@/domain/tour/stages";
import { LabelGlyph } from "@/features/labels/LabelGlyph";
import { pluralize } from "@/ui/format/numbers";
import { StageBar } from "@/ui/stages/StageBar";
import classes from "./Track.module.css";
import type { TourReplay } from "./useTourReplay";

interface Props {
  steps: readonly StepSummary[];
  fork: number;
  replay: TourReplay | null;
}

/** The steps of the run in a row, each with its label once the replay has given it one. */
export function Track({ steps, fork, replay }: Props): ReactElement {
  const replayedSteps = new Map(replay?.steps.map((step) => [step.sequence_no, step]));
  const numbers = [...new Set([...steps.map((step) => step.sequence_no), ...replayedSteps.keys()])];
  const track = useRef<HTMLDivElement>(null);
  const isWatching = replay !== null;
  useEffect(() => {
    // On a small screen, the labels would appear below the fold.
    if (isWatching) track.current?.scrollIntoView({ block: "nearest" });
  }, [isWatching]);
  return (
    <div className={classes.track} ref={track}>
      <div className={classes.head}>
        <span>
          <b>{pluralize(numbers.length, "step")}</b>{" "}
          <span className="muted">
            Steps before the fork are reused from the recording. The others get a label as they replay.
          </span>
        </span>
        <StageBar label="Tour" stages={TOUR_STAGES} current={replay ? "Watch" : "Replay"} />
      </div>
      <ol className={classes.steps} aria-label="Steps of the replay">
        {numbers.map((number) => (
          <Step
            key={number}
            number={number}
            source={steps.find((step) => step.sequence_no === number)}
            result={replayedSteps.get(number)}
            fork={fork}
          />
        ))}
      </ol>
      <span role="status" className={classes.status}>
        {replay && statusText(replay, numbers.length)}
      </span>
    </div>
  );
}

function statusText({ isShown, session }: TourReplay, total: number): string {
  return isShown ? `Replayed. Now the customer gets: ${session.answer}` : `Replaying ${pluralize(total, "step")}`;
}

interface StepProps {
  number: number;
  source: StepSummary | undefined;
  result: StepSummary | undefined;
  fork: number;
}

function Step({ number, source, result, fork }: StepProps): ReactElement {
  const mark = result && markOf(result);
  return (
    <li data-fork={number === fork} data-next={!mark && number >= fork}>
      <i className={`${classes.bar} ${mark ?? ""}`} aria-hidden />
      <span className={classes.name}>
        <b className="num">{number}</b>
        <span className="ellipsis">{nameOf(result ?? source)}</span>
      </span>
      <span className={`${classes.label} ${mark ?? ""}`}>
        {mark && (
          <>
            <LabelGlyph mark={mark} size={9} silent /> {markWord[mark]}
          </>
        )}
      </span>
    </li>
  );
}

function nameOf(step: StepSummary | undefined): string {
  if (!step) return "";
  return step.type === "model" ? "model" : step.name || step.type;
}
