import type { ReactElement } from "react";
import type { StepSummary, TranscriptStep, Turn } from "@/api/schema";
import { isFailed } from "@/domain/steps/labels";
import { StepIcon } from "@/features/steps/StepIcon";
import { shortenMarkers } from "@/ui/format/markers";
import { MarkedText } from "@/ui/MarkedText";
import { Fold } from "./Fold";
import type { TranscriptRow } from "./rows";
import classes from "./Transcript.module.css";
import { FoldedText, Rest, TurnContent } from "./TurnView";
import { checkTitle, lossSentences, modelVerb } from "./wording";

interface Props {
  row: TranscriptRow;
  /** Undefined while they load. */
  turns: TranscriptStep | undefined;
}

/** Whether a container, whose name is above its steps, has nothing to add below them. */
export function isSilent({ part }: TranscriptRow, turns: TranscriptStep | undefined): boolean {
  return part === "output" && turns !== undefined && !turns.content && turns.error.length + turns.losses.length === 0;
}

/** What a step says, below its name. Until it has loaded, its summary. */
export function StepTurns({ row, turns }: Props): ReactElement {
  const { step, part } = row;
  return (
    <>
      <Title row={row} turns={turns} />
      {turns && part !== "agent" && (
        <>
          {part !== "failure" && <Content step={step} turns={turns} />}
          {part !== "input" && <Problems step={step} turns={turns} />}
        </>
      )}
    </>
  );
}

function Title({ row: { step, part }, turns }: Props): ReactElement {
  const name = shortenMarkers(step.name || step.model || step.type);
  const isCheck = step.type === "validator";
  return (
    <div className={`${classes.who} ${isFailed(step.status) ? "failed" : ""}`}>
      <StepIcon type={step.type} size={15} hasLabel />
      <span>{isCheck ? checkTitle(step) : part === "failure" ? `${name}: ${step.status}` : name}</span>
      <small className="ellipsis">{part === "step" && subtitle(step, turns, name)}</small>
    </div>
  );
}

/** What follows the name: what a model does, or the arguments of a tool. */
function subtitle(step: StepSummary, turns: TranscriptStep | undefined, name: string): string {
  const text = shortenMarkers(step.summary);
  const summary = text.startsWith(name) ? text.slice(name.length).replace(/^\((.*)\)$/, "$1") : text;
  switch (step.type) {
    case "model":
      return turns ? modelVerb(turns.content) : summary;
    case "output":
      return turns?.repeats ? `the answer of step ${turns.repeats}` : turns ? "" : summary;
    case "tool":
    case "retrieval":
      return summary;
    default:
      return turns ? "" : summary;
  }
}

const CALLS: ReadonlySet<string> = new Set(["model", "tool", "retrieval", "prompt"]);

function Content({ step, turns }: { step: StepSummary; turns: TranscriptStep }): ReactElement | null {
  const { content } = turns;
  if (step.type === "output" && turns.repeats !== null) return null;
  if (!content) {
    const isMissing = CALLS.has(step.type) && step.status !== "running" && turns.error.length === 0;
    return isMissing && turns.losses.length === 0 ? <p className={classes.remark}>No output was recorded.</p> : null;
  }
  if (content.documents.length > 0) return <Documents turn={content} />;
  switch (step.type) {
    case "model":
    case "agent":
    case "turn":
    case "output":
      return <TurnContent turn={content} />;
    case "prompt":
      return <FoldedText turn={content} />;
    default:
      return turns.error.length > 0 && isRepeated(turns.error.text, content.text.text, step.type) ? null : (
        <FoldedText turn={content} isCode isFailed={isFailed(step.status)} />
      );
  }
}

/** Whether the error says what the result does: the same text, or the reason of a failed check. */
function isRepeated(error: string, result: string, type: StepSummary["type"]): boolean {
  return result === "" || (type === "validator" ? result.includes(error) : result === error);
}

function Documents({ turn }: { turn: Turn }): ReactElement {
  return (
    <Fold title="Documents" line={turn.documents.map(({ title }) => title || "untitled").join(", ")} isCode>
      {() => (
        <ol className={classes.documents}>
          {turn.documents.map(({ title, text }, index) => (
            <li key={index}>
              <b>{title}</b> <MarkedText text={text.text} />
              {text.text.length < text.length && "…"}
            </li>
          ))}
        </ol>
      )}
    </Fold>
  );
}

/** The error of a step, and what of it cannot be read. */
function Problems({ step, turns }: { step: StepSummary; turns: TranscriptStep }): ReactElement {
  return (
    <>
      {turns.error.length > 0 && (
        <div className={classes.error} role="note" aria-label={`Error of step ${step.sequence_no}`}>
          <MarkedText text={turns.error.text} />
          <Rest text={turns.error} />
        </div>
      )}
      {lossSentences(turns).map((sentence) => (
        <p key={sentence} className={classes.error}>
          {sentence}
        </p>
      ))}
    </>
  );
}
