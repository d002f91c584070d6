import type { ReactElement, ReactNode } from "react";
import classes from "./Kbd.module.css";

const apple = /Mac|iPhone|iPad/.test(navigator.userAgent);
const names: Record<string, string> = {
  mod: apple ? "⌘" : "Ctrl",
  Enter: "↵",
  ArrowDown: "↓",
  ArrowUp: "↑",
  ArrowLeft: "←",
  ArrowRight: "→",
  Escape: "Esc",
};

export function Kbd({ children }: { children: ReactNode }): ReactElement {
  return <kbd className={classes.kbd}>{children}</kbd>;
}

/** The key of a button, beside its text. Not a part of its name: `aria-keyshortcuts` states it. */
export function KeyHint({ children }: { children: ReactNode }): ReactElement {
  return (
    <span aria-hidden>
      <Kbd>{children}</Kbd>
    </span>
  );
}

/** The key caps of a shortcut: "mod+Enter", "D" with Shift. */
function caps(keys: string): string[] {
  return keys.split("+").flatMap((key) => (/^[A-Z]$/.test(key) ? ["⇧", key.toLowerCase()] : [names[key] ?? key]));
}

export function Keys({ keys }: { keys: string }): ReactElement {
  return (
    <span className={classes.keys}>
      {caps(keys).map((cap) => (
        <Kbd key={cap}>{cap}</Kbd>
      ))}
    </span>
  );
}
