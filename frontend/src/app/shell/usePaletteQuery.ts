import { useEffect, useState } from "react";

/** Marks the field of the palette. */
export const PALETTE_FIELD = { "data-palette-field": true };

interface PaletteQuery {
  text: string;
  setText: (text: string) => void;
}

/** The text in the palette. What is typed before its field has the focus goes there, too. */
export function usePaletteQuery(isOpen: boolean): PaletteQuery {
  const [text, setText] = useState("");
  useEffect(() => {
    if (!isOpen) return;
    const collect = (event: KeyboardEvent) => {
      if (event.target instanceof Element && event.target.matches("[data-palette-field]")) return;
      if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.key.length !== 1) return;
      event.preventDefault();
      event.stopPropagation();
      setText((current) => current + event.key);
    };
    // Before the shortcuts and the field that the focus is leaving.
    document.addEventListener("keydown", collect, { capture: true });
    return () => {
      document.removeEventListener("keydown", collect, { capture: true });
      setText("");
    };
  }, [isOpen]);
  return { text, setText };
}
