import { IconGitFork } from "@tabler/icons-react";
import type { ReactElement } from "react";
import type { Caption } from "@/api/schema";
import { changeWords } from "@/domain/runs/title";
import classes from "./ForkName.module.css";

interface Props {
  fork: Pick<Caption, "title" | "change">;
  /** The step at which it was forked. */
  step: number | null;
}

/** A fork: its step, the name that users gave it, and what it changes. */
export function ForkName({ fork, step }: Props): ReactElement {
  return (
    <span className={classes.fork}>
      <ForkMark step={step} />
      <ForkWords fork={fork} step={step} />
    </span>
  );
}

/** The name that users gave a fork, and what it changes. */
export function ForkWords({ fork: { title, change }, step }: Props): ReactElement {
  return (
    <span className={classes.fork}>
      {title && <b className={classes.title}>{title}</b>}
      <span className={classes.change}>
        {title && change && " · "}
        {title ? change && changeWords(change) : <b>{change ? changeWords(change) : `fork from step ${step ?? 1}`}</b>}
      </span>
      {change?.target && <span className={classes.target}>{change.target}</span>}
    </span>
  );
}

/** The fork mark with the step at which a run was forked. */
export function ForkMark({ step }: { step: number | null }): ReactElement {
  return (
    <span className={`num ${classes.mark}`} title={`Fork from step ${step ?? 1}`}>
      <IconGitFork size={12} aria-label="Fork from step" role="img" /> {step ?? 1}
    </span>
  );
}
