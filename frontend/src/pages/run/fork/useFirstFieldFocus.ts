import { useEffect, useRef, type RefObject } from "react";

const FIELD = "textarea, input:not([type=radio], [type=checkbox])";

/**
 * Move the focus to the first field inside an element when it has one, and back when the element goes. On touch screens
 * the keyboard would cover the field. A user who has moved the focus meanwhile keeps it.
 */
export function useFirstFieldFocus(element: RefObject<HTMLElement | null>, isReady: boolean): void {
  const isDone = useRef(false);
  const start = useRef<Element | null>(null);
  useEffect(() => {
    const before = document.activeElement;
    start.current = before;
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
    };
  }, []);
  useEffect(() => {
    const field = isReady && !isDone.current && element.current?.querySelector<HTMLElement>(FIELD);
    if (!field || window.matchMedia("(pointer: coarse)").matches) return;
    isDone.current = true;
    const { activeElement } = document;
    if (activeElement !== start.current && activeElement !== document.body) return;
    field.focus({ preventScroll: true });
  }, [element, isReady]);
}
