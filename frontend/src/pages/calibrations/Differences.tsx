import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { CalibrationView } from "@/api/schema";
import { paths } from "@/app/paths";
import classes from "./Calibration.module.css";

/** Where the calls differ in what they say. */
export function Differences({ calibration }: { calibration: CalibrationView }): ReactElement | null {
  const { left } = calibration;
  if (left.length === 0) return null;
  return (
    <section className="panel" aria-labelledby="left">
      <header className={classes.head}>
        <h2 id="left">Differences that say something</h2>
        <span className="muted">never left out</span>
      </header>
      <ul className={classes.rules}>
        {left.map((each) => (
          <li key={`${each.base} ${each.pointer}`}>
            <span className="grow">
              <Link {...paths.run(calibration.base, { step: each.base })}>step {each.base}</Link>{" "}
              <span className="muted">{each.name}</span> <code className={classes.pointer}>{each.pointer}</code>
              <span className={classes.example}>
                “{each.example.base}” <span aria-label="against">→</span> “{each.example.candidate}”
              </span>
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
