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

/** Draws a shortcut as written in the registry: "mod+Enter". */
export function Keys({ keys }: { keys: string }): ReactElement {
  return (
    <span className={classes.keys}>
      {keys.split("+").map((key) => (
        <Kbd key={key}>{names[key] ?? key}</Kbd>
      ))}
    </span>
  );
}
