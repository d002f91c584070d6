import type { ReactElement } from "react";
import { markWord, type Mark } from "@/domain/steps/labels";

const shapes: Record<Mark, ReactElement> = {
  live: <circle cx="5" cy="5" r="3.9" fill="none" stroke="currentColor" strokeWidth="1.5" />,
  exact: <circle cx="5" cy="5" r="4.6" fill="currentColor" />,
  cached: (
    <>
      <circle cx="5" cy="5" r="3.9" fill="none" stroke="currentColor" strokeWidth="1.5" />
      <path d="M5 1.1a3.9 3.9 0 0 0 0 7.8z" fill="currentColor" />
    </>
  ),
  simulated: (
    <circle cx="5" cy="5" r="3.8" fill="none" stroke="currentColor" strokeWidth="1.8" strokeDasharray="2.2 1.78" />
  ),
  failed: (
    <path
      d="M1.6 1.6l6.8 6.8M8.4 1.6L1.6 8.4"
      fill="none"
      stroke="currentColor"
      strokeWidth="2"
      strokeLinecap="round"
    />
  ),
};

/** A label as a coloured shape. `silent` if its word is next to it. */
export function LabelGlyph(props: {
  mark: Mark;
  size?: number;
  silent?: boolean;
  word?: string | undefined;
}): ReactElement {
  const size = props.size ?? 10;
  const accessibility = props.silent
    ? { "aria-hidden": true }
    : { role: "img", "aria-label": props.word ?? markWord[props.mark] };
  return (
    <svg
      className={props.mark}
      viewBox="0 0 10 10"
      width={size}
      height={size}
      style={{ flex: "none" }}
      {...accessibility}
    >
      {shapes[props.mark]}
    </svg>
  );
}
