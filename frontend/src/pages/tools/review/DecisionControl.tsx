import type { ReactElement } from "react";
import classes from "./Review.module.css";

const OPTIONS = [
  { safe: true, words: "Safe" },
  { safe: false, words: "Side effect" },
  { safe: null, words: "Not reviewed" },
] as const;

interface Props {
  name: string;
  /** The current decision; undefined if several tools differ. */
  safe: boolean | null | undefined;
  isAdmin: boolean;
  onDecide: (safe: boolean | null) => void;
}

/** The three states of a review at fixed places. Unlike in a radio group, arrow keys never decide. */
export function DecisionControl({ name, safe: decision, isAdmin, onDecide }: Props): ReactElement {
  return (
    <div className={classes.decision} role="group" aria-label={name}>
      {OPTIONS.map(({ safe, words }) => (
        <button
          key={words}
          type="button"
          aria-pressed={decision === safe}
          aria-disabled={!isAdmin}
          className={classes.option}
          data-safe={safe ?? "unknown"}
          title={isAdmin ? undefined : "Only admins can review tools"}
          onClick={() => onDecide(safe)}
        >
          {words}
        </button>
      ))}
    </div>
  );
}
