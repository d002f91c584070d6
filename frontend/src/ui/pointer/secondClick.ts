import type { MouseEvent } from "react";

/** Whether a click is the second one of a double click, which would create the same thing twice. */
export function isSecondClick({ detail }: MouseEvent): boolean {
  return detail > 1;
}
