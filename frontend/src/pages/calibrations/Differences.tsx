import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { CalibrationView } from "@/api/schema";
import { paths } from "@/app/paths";
import classes from "./Calibration.module.css";

/** Fields in which the calls differ significantly. */
export function Differences({ calibration }: { calibration: CalibrationView }): ReactElement | null {
  const { left } = calibration;
  if (left.length === 0) return null;
  return (
    <section className="panel" aria-labelledby="left">
      <header className={classes.head}>
        <h2 id="left">Significant differences</h2>
        <span className="muted">never ignored</span>
      </header>
      <ul className={classes.rules}>
        {left.map((difference) => (
          <li key={`${difference.base} ${difference.pointer}`}>
            <span className="grow">
              <Link {...paths.run(calibration.base, { step: difference.base })}>step {difference.base}</Link>{" "}
              <span className="muted">{difference.name}</span>{" "}
              <code className={classes.pointer}>{difference.pointer}</code>
              <span className={classes.example}>
                “{difference.example.base}” <span aria-label="versus">→</span> “{difference.example.candidate}”
              </span>
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
