import { Tooltip } from "@mantine/core";
import type { ReactElement } from "react";
import { CONFIDENCE, STRENGTHS, type Confidence } from "@/domain/diffs/confidence";
import classes from "./ConfidenceLevel.module.css";

/** The confidence in a cause as three bars and words. Noise is a word alone. */
export function ConfidenceLevel(props: {
  confidence: Confidence;
  note?: string;
  /** What it rests on, if not on the evidence of a diff. */
  means?: string;
  /** Omits the word "confidence" where the column names it; a row of a list is no stop for the keyboard. */
  short?: boolean;
}): ReactElement {
  const { confidence, note, short } = props;
  const { words, means } = CONFIDENCE[confidence];
  const strength = STRENGTHS[confidence];
  return (
    <Tooltip label={props.means ?? means}>
      <span className={classes.level} tabIndex={short ? undefined : 0}>
        {strength > 0 && (
          <span className={classes.bars} aria-hidden>
            {[1, 2, 3].map((bar) => (
              <i key={bar} data-full={bar <= strength} />
            ))}
          </span>
        )}
        <span className={classes.words}>
          {short ? words.replace(" confidence", "") : words}
          {note}
        </span>
      </span>
    </Tooltip>
  );
}
