import { IconCheck } from "@tabler/icons-react";
import type { ReactElement } from "react";
import classes from "./StageBar.module.css";

/** Stages in their order, with those before `current` done; null: all. */
export function StageBar(props: { label: string; stages: readonly string[]; current: string | null }): ReactElement {
  const position = props.current === null ? props.stages.length : props.stages.indexOf(props.current);
  return (
    <ol className={classes.bar} aria-label={props.label}>
      {props.stages.map((stage, index) => (
        <li key={stage} aria-current={index === position ? "step" : undefined} data-done={index < position}>
          <span className={`${classes.mark} num`}>
            {index < position ? <IconCheck size={12} stroke={2.6} aria-label="Done:" /> : index + 1}
          </span>
          {stage}
        </li>
      ))}
    </ol>
  );
}
