import { Tooltip } from "@mantine/core";
import type { ReactElement } from "react";
import { CONFIDENCE, STRENGTHS, type Confidence } from "@/domain/diffs/confidence";
import classes from "./ConfidenceLevel.module.css";

/** The confidence in a cause as three bars and words. Noise is a word alone. */
export function ConfidenceLevel({ confidence, note }: { confidence: Confidence; note?: string }): ReactElement {
  const { means, words } = CONFIDENCE[confidence];
  const strength = STRENGTHS[confidence];
  return (
    <Tooltip label={means}>
      <span className={classes.level} tabIndex={0}>
        {strength > 0 && (
          <span className={classes.bars} aria-hidden>
            {[1, 2, 3].map((bar) => (
              <i key={bar} data-full={bar <= strength} />
            ))}
          </span>
        )}
        <span className={classes.words}>
          {words}
          {note}
        </span>
      </span>
    </Tooltip>
  );
}
