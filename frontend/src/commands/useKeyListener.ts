import { useEffect } from "react";
import { resolvePress } from "./registry";
import { currentCommands } from "./useCommands";

/** How long the first key of a sequence waits for the second. */
const SEQUENCE_MS = 1200;

/** Runs commands by their keys. Mounted once, by the command centre. */
export function useKeyListener(): void {
  useEffect(() => {
    let pending = "";
    let openedAt = 0;
    function onKeyDown(event: KeyboardEvent) {
      if (event.defaultPrevented || event.altKey || isModifier(event.key)) return;
      const press = { key: event.key, mod: event.metaKey || event.ctrlKey, shift: event.shiftKey };
      const open = event.timeStamp - openedAt < SEQUENCE_MS ? pending : "";
      const found = resolvePress(currentCommands(), press, open, isTyping(event.target));
      pending = found.pending;
      openedAt = event.timeStamp;
      if (!found.command) return;
      event.preventDefault();
      found.command.run();
    }
    window.addEventListener("keydown", onKeyDown);
    return () => window.removeEventListener("keydown", onKeyDown);
  }, []);
}

function isModifier(key: string): boolean {
  return key === "Shift" || key === "Control" || key === "Meta" || key === "Alt";
}

/** Text fields, editors, and open menus or lists that use letters themselves. */
function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable) return true;
  if (target instanceof HTMLInputElement) return !["checkbox", "radio", "button", "submit"].includes(target.type);
  return target.closest("textarea, select, [role=textbox], [role=dialog], [role=menu], [role=listbox]") !== null;
}
