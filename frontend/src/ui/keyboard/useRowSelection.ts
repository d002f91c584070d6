import { useEffect, useRef, useState, type RefObject } from "react";
import { useShortcuts } from "./shortcuts";

interface Rows {
  selected: number;
  /** For the element whose children the rows are. */
  body: RefObject<HTMLTableSectionElement | null>;
}

/** Moves through the rows of a list with `j` and `k`, opens with Enter. */
export function useRowSelection(name: string, count: number, open: (index: number) => void): Rows {
  const [selected, setSelected] = useState(-1);
  const body = useRef<HTMLTableSectionElement>(null);
  const move = (step: number) => setSelected((at) => Math.min(count - 1, Math.max(0, at + step)));
  useShortcuts(name, [
    { keys: "j", action: "Next row", run: () => move(1) },
    { keys: "k", action: "Previous row", run: () => move(-1) },
    { keys: "Enter", action: "Open the row", run: () => open(selected) },
  ]);
  useEffect(() => {
    if (selected >= 0) body.current?.children[selected]?.scrollIntoView({ block: "nearest" });
  }, [selected]);
  return { selected, body };
}
