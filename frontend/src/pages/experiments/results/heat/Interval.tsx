import type { CSSProperties, ReactElement } from "react";
import classes from "./HeatMap.module.css";

/** An interval as a line and its value as a dot, from 0 to 1. The numbers stand beside it. */
export function Interval({ value, low, high }: { value: number; low: number; high: number }): ReactElement {
  return (
    <span
      aria-hidden
      className={classes.interval}
      style={{ "--low": `${low * 100}%`, "--high": `${high * 100}%`, "--at": `${value * 100}%` } as CSSProperties}
    >
      <i />
      <u />
    </span>
  );
}
