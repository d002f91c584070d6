import { useLayoutEffect, useRef, type PointerEvent, type RefObject } from "react";
import type { Node } from "../steps/tree";

/** Keep the row under the pointer in its place when zooming adds or removes rows above it. */
export function useRowAnchor(
  scroller: RefObject<HTMLElement | null>,
  rows: readonly Node[],
  rowHeight: number,
): (event: PointerEvent<HTMLElement>) => void {
  const pointerTop = useRef(0);
  const previous = useRef(rows);
  useLayoutEffect(() => {
    const list = scroller.current;
    const before = previous.current;
    previous.current = rows;
    if (!list || before === rows) return;
    const place = (list.scrollTop + pointerTop.current) / rowHeight;
    const anchor = before[Math.floor(place)]?.step.sequence_no;
    if (anchor === undefined) return;
    const index = rows.findIndex(({ step }) => step.sequence_no >= anchor);
    if (index >= 0) list.scrollTo({ top: (index + (place % 1)) * rowHeight - pointerTop.current });
  }, [scroller, rows, rowHeight]);
  return (event) => {
    pointerTop.current = event.clientY - event.currentTarget.getBoundingClientRect().top;
  };
}
