import { useEffect, useRef, useState, type RefObject } from "react";
import { useShortcuts } from "./shortcuts";

interface Rows {
  selectedIndex: number;
  /** Ref for the element around the rows. The one at `selectedIndex` needs `data-selected="true"`. */
  body: RefObject<HTMLTableSectionElement | null>;
}

/** Select rows of a list with `j` and `k`, open with Enter. */
export function useRowSelection(name: string, count: number, open: (index: number) => void): Rows {
  const [selectedIndex, setSelectedIndex] = useState(-1);
  const body = useRef<HTMLTableSectionElement>(null);
  const move = (step: number) => setSelectedIndex((index) => Math.min(count - 1, Math.max(0, index + step)));
  useShortcuts(name, [
    { keys: "j", action: "Next row", run: () => move(1) },
    { keys: "k", action: "Previous row", run: () => move(-1) },
    { keys: "Enter", action: "Open the row", run: () => open(selectedIndex) },
  ]);
  useEffect(() => {
    if (selectedIndex >= 0) body.current?.querySelector('[data-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [selectedIndex]);
  return { selectedIndex, body };
}
