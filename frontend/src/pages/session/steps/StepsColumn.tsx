import { Loader } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef, useState, type ReactElement } from "react";
import { stepsQuery } from "@/api/runs/runs";
import type { SessionView, StepSummary } from "@/api/schema";
import { pluralize, duration } from "@/ui/format/numbers";
import { LabelGlyph } from "@/features/labels/LabelGlyph";
import { markOf, markWord, reasonSentence } from "@/domain/steps/labels";
import { stepPreview } from "@/domain/steps/preview";
import { StepIcon } from "@/features/steps/StepIcon";
import { RunLink } from "@/features/share/RunLink";
import { hasEnded } from "@/domain/replays/status";
import { withText } from "@/ui/format/textSize";
import { currentWords, isAgentQuestion } from "./currentStep";
import { sessionRows, type SessionRow } from "./sessionRows";
import classes from "./StepsColumn.module.css";

const ROW = withText(30);
const NONE: readonly StepSummary[] = [];

/** The resolved steps, followed by the ones expected from the recording. */
export function StepsColumn({ session, steps }: { session: SessionView; steps: readonly StepSummary[] }): ReactElement {
  const [showInherited, setShowInherited] = useState(false);
  const running = !hasEnded(session);
  const { data: source = NONE } = useQuery({ ...stepsQuery(session.source_run), enabled: running });
  const rows = useMemo(
    () =>
      sessionRows({
        forkAt: session.fork_sequence_no,
        resolvedSteps: steps,
        source,
        unusedNumbers: session.unused_calls,
        running,
        showInherited,
      }),
    [session.fork_sequence_no, session.unused_calls, steps, source, running, showInherited],
  );
  return (
    <section className={`panel ${classes.panel}`} aria-labelledby="replay-steps">
      <header className={classes.head}>
        <h2 id="replay-steps">Steps</h2>
        <span className="grow" />
        <span className="muted num">
          {pluralize(steps.length, "step")}
          {running && " so far"}
        </span>
      </header>
      <Rows rows={rows} session={session} onShowInherited={() => setShowInherited(true)} />
    </section>
  );
}

function Rows(props: { rows: readonly SessionRow[]; session: SessionView; onShowInherited: () => void }): ReactElement {
  const { rows, session } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 15,
  });
  const current = rows.findIndex((row) => row.kind === "current");
  useEffect(() => {
    if (current >= 0) virtual.scrollToIndex(current, { align: "center" });
  }, [current, virtual]);
  return (
    <div ref={scroller} className={classes.scroll} tabIndex={0} role="group" aria-label="Steps of the replay">
      <ol className={classes.list} style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, start }) => {
          const row = rows[index];
          return row ? (
            <li key={rowKey(row)} className={classes.item} style={{ transform: `translateY(${start}px)` }}>
              <Row row={row} session={session} onShowInherited={props.onShowInherited} />
            </li>
          ) : null;
        })}
      </ol>
    </div>
  );
}

function rowKey(row: SessionRow): string {
  switch (row.kind) {
    case "inherited":
      return "inherited";
    case "fork":
      return "fork";
    case "current":
      return `current ${row.sequenceNo}`;
    case "done":
    case "expected":
      return `${row.kind} ${row.step.id}`;
    default:
      return row satisfies never;
  }
}

function Row(props: { row: SessionRow; session: SessionView; onShowInherited: () => void }): ReactElement {
  const { row, session } = props;
  switch (row.kind) {
    case "inherited":
      return (
        <button type="button" className={classes.inherited} onClick={props.onShowInherited}>
          <LabelGlyph mark="exact" silent />
          {pluralize(row.count, "step")} before the fork, reused
        </button>
      );
    case "fork":
      return <div className={classes.fork}>fork at step {row.sequenceNo}</div>;
    case "done":
      return (
        <ResolvedStep step={row.step} run={session.run} isError={session.error_sequence_no === row.step.sequence_no} />
      );
    case "current":
      return (
        <div className={classes.current}>
          {session.status === "running" ? (
            <Loader size={11} aria-hidden />
          ) : (
            <span className={classes.dot} aria-hidden />
          )}
          <span className={`${classes.number} num`}>{row.sequenceNo}</span>
          <span className="ellipsis">
            {currentWords(session)}
            {row.expected && !isAgentQuestion(session) && (
              <span className="muted"> · recorded: {stepPreview(row.expected)}</span>
            )}
          </span>
        </div>
      );
    case "expected":
      return (
        <div className={classes.expected}>
          <span className={classes.dot} aria-hidden />
          <span className={`${classes.number} num`}>{row.sequenceNo}</span>
          <span className="ellipsis">
            {row.step.type} {stepPreview(row.step)}
          </span>
        </div>
      );
    default:
      return row satisfies never;
  }
}

/** The name of a model step is the model that answered, which may differ from the recorded one. */
function nameOf(step: StepSummary): string {
  return (step.type === "model" && step.model) || step.name || step.type;
}

function ResolvedStep({
  step,
  run,
  isError,
}: {
  step: StepSummary;
  run: string | null;
  isError: boolean;
}): ReactElement {
  const mark = markOf(step);
  const content = (
    <>
      <LabelGlyph mark={mark} silent />
      <span className={`${classes.number} num`}>{step.sequence_no}</span>
      <StepIcon type={step.type} />
      <span className={classes.description}>
        <b>{nameOf(step)}</b>{" "}
        <span className="muted">{step.summary === step.name ? "" : stepPreview({ ...step, name: "" })}</span>
      </span>
      <span className={`chip ${mark} ${classes.label}`} title={reasonSentence(step.reason)}>
        {markWord[mark]}
      </span>
      <span className={`${classes.time} num`}>{step.duration_ms === null ? "" : duration(step.duration_ms)}</span>
    </>
  );
  return run ? (
    <RunLink run={run} step={step.sequence_no} className={classes.done} data-error={isError}>
      {content}
    </RunLink>
  ) : (
    <div className={classes.done}>{content}</div>
  );
}
