import { UnstyledButton } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState, type ReactElement } from "react";
import type { Cause, DiffPlace, PathLink, TextSpan } from "@/api/schema";
import { paths } from "@/app/paths";
import { pluralize } from "@/ui/format/numbers";
import { LabelGlyph } from "@/features/labels/LabelGlyph";
import { markOf } from "@/domain/steps/labels";
import { LineComments, moveBetweenLines } from "../comments/LineComments";
import { useReport } from "../reportContext";
import classes from "./Attribution.module.css";

/** The path from the root difference through the data flow to the answer, and the alternatives. */
export function AttributionPanel(): ReactElement {
  const { attribution } = useReport().report;
  const { headline, primary, path, supporting, alternatives } = attribution;
  // In the headline, “Probably chance:” introduces what follows it.
  const cause = headline?.cause.replace(/:$/, "") || primary?.title;
  return (
    <section className={`panel ${classes.panel}`} aria-labelledby="cause-to-effect">
      <header className={classes.head}>
        <h2 id="cause-to-effect">From cause to effect</h2>
      </header>
      <div className={classes.body}>
        {path.length > 0 ? (
          <Path path={path} cause={cause} primary={primary} />
        ) : (
          <NoPath verdict={attribution.verdict} />
        )}
        <Causes title="Contributing changes" causes={supporting.filter((item) => !isOnPath(item, path))} />
        <Causes title="Not ruled out" causes={alternatives} />
      </div>
    </section>
  );
}

/** Whether the path already shows the step of a cause. */
function isOnPath({ base, candidate }: Cause, path: readonly PathLink[]): boolean {
  return path.some(({ step }) => step.id === base?.id || step.id === candidate?.id);
}

const NOT_CONNECTED = "The recordings do not connect any change to the answer.";
const NO_PATH: Readonly<Record<string, string>> = {
  no_difference: "Both runs give the same answer, so there is nothing to explain.",
  noise: "Chance alone explains the difference, so there is no path to show.",
};

function NoPath({ verdict }: { verdict: string }): ReactElement {
  return <p className={classes.none}>{NO_PATH[verdict] ?? NOT_CONNECTED}</p>;
}

/** A long path shows its first and last steps. The middle opens on request. */
const [BEGIN, END] = [3, 2];

interface PathProps {
  path: readonly PathLink[];
  /** In words. */
  cause: string | undefined;
  primary: Cause | null;
}

function Path({ path, cause, primary }: PathProps): ReactElement {
  const [isFullPath, setFullPath] = useState(path.length <= BEGIN + END + 1);
  const hiddenCount = path.length - BEGIN - END;
  return (
    <ol className={classes.path}>
      {path.map((link, index) => {
        const isMiddle = index >= BEGIN && index < path.length - END;
        if (!isFullPath && isMiddle) {
          return index > BEGIN ? null : (
            <li key={index} className={classes.fold}>
              <UnstyledButton onClick={() => setFullPath(true)}>
                Show {pluralize(hiddenCount, "step")} in between
              </UnstyledButton>
            </li>
          );
        }
        return (
          <li key={index} className={index === 0 ? classes.cause : undefined}>
            <Node link={link} number={index + 1} name={index === 0 ? cause : undefined} />
            <Note spans={link.note} />
            {index === 0 && primary && <LineComments place={causePlace(primary)} subjectWords="the cause" />}
          </li>
        );
      })}
    </ol>
  );
}

function Node({ link, number, name }: { link: PathLink; number: number; name: string | undefined }): ReactElement {
  const { report, hasLinks } = useReport();
  const { step, side } = link;
  const label = `${side} step ${step.sequence_no}`;
  return (
    <div className={classes.node}>
      <span className={classes.number} aria-hidden>
        {number}
      </span>
      <div className={classes.description}>
        {name && <b>{name}</b>}
        <span className={name ? classes.location : classes.lead}>
          <LabelGlyph mark={markOf(step)} silent size={9} />
          {hasLinks ? (
            <Link {...paths.run(report[side].id, { step: step.sequence_no })}>{label}</Link>
          ) : (
            <span>{label}</span>
          )}
          <span className={classes.kind}>
            {step.type}
            {step.name && step.name !== step.type ? ` · ${step.name}` : ""}
          </span>
        </span>
      </div>
      <span
        className={link.evidence === "tested" ? "chip exact" : "chip"}
        title={
          link.evidence === "tested" ? "Proven by replaying" : `Known from the recordings: ${LINK_EVIDENCE[link.via]}`
        }
      >
        {link.evidence}
      </span>
    </div>
  );
}

/** What differs at a step, with the old and the new text marked. */
function Note({ spans }: { spans: readonly TextSpan[] }): ReactElement | null {
  if (spans.length === 0) return null;
  return (
    <p className={classes.note}>
      {spans.map(({ op, text }, index) => {
        const Mark = MARKS[op];
        return <Mark key={index}>{text}</Mark>;
      })}
    </p>
  );
}

const MARKS = { equal: "span", delete: "del", insert: "ins" } as const;

const LINK_EVIDENCE: Record<PathLink["via"], string> = {
  cause: "this is where the difference begins",
  tool_call_id: "linked by the id of the tool call",
  link: "the recording links the two",
  history: "the next request contains it in its history",
  digest: "the same content appears again",
  text: "the same words appear again",
  value: "one of its values appears again (weak evidence)",
};

function causePlace({ category, title, base, candidate }: Cause): DiffPlace {
  return {
    section: "causes",
    kind: category,
    base: base?.sequence_no ?? null,
    candidate: candidate?.sequence_no ?? null,
    occurrence: 0,
    part: title,
    line: null,
  };
}

function Causes({ title, causes }: { title: string; causes: readonly Cause[] }): ReactElement | null {
  const { hasLinks } = useReport();
  if (causes.length === 0) return null;
  return (
    <div className={classes.causes}>
      <h3>{title}</h3>
      <ul onKeyDown={moveBetweenLines}>
        {causes.map((cause, index) => (
          <li key={index}>
            <b>{cause.title}</b> <span className="muted">{cause.description}</span>
            {hasLinks && <StepLink cause={cause} />}
            <LineComments place={causePlace(cause)} subjectWords="this cause" />
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Where a cause is: in the candidate, unless only the base has the step. */
function StepLink({ cause }: { cause: Cause }): ReactElement | null {
  const { report } = useReport();
  const side = cause.candidate ? "candidate" : "base";
  const step = cause[side];
  if (!step) return null;
  return (
    <>
      {" "}
      <Link {...paths.run(report[side].id, { step: step.sequence_no })}>
        {side} step {step.sequence_no}
      </Link>
    </>
  );
}
