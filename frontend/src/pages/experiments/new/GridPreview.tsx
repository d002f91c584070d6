import type { CSSProperties, ReactElement } from "react";
import type { ExperimentPlan } from "@/api/schema";
import { pluralize } from "@/ui/format/numbers";
import { layOut } from "../results/heat/grid";
import { draftAxes, rowCount, type MatrixDraft } from "./matrixDraft";
import classes from "./GridPreview.module.css";

interface Props {
  draft: MatrixDraft;
  /** The calls of each cell, once they are planned. */
  plan: ExperimentPlan | undefined;
}

/** The combinations as the grid of the result, while the axes are edited. */
export function GridPreview({ draft, plan }: Props): ReactElement {
  const axes = draftAxes(draft).filter(({ values }) => values.length > 1);
  const { rows, columns, rest } = layOut(axes);
  const cellCount = rowCount({ ...draft, samples: 1 });
  const gridCount = rest.reduce((product, { values }) => product * values.length, 1);
  const callsOf = (row: string, column: string) =>
    plan?.cells.find(({ settings }) =>
      settings.every(
        ({ axis, value }) => (axis !== rows?.name || value === row) && (axis !== columns?.name || value === column),
      ),
    )?.live_calls;
  return (
    <section className={`panel ${classes.panel}`} aria-label="Grid">
      <div className="bar">
        <h2>Grid</h2>
        <span className="muted num">
          {pluralize(cellCount, "combination")} × {pluralize(draft.samples, "sample")}
        </span>
      </div>
      <div className={classes.scroll} tabIndex={0} role="group" aria-label="Combinations, scrollable">
        <table
          className={classes.grid}
          style={{ "--columns": Math.max(1, columns?.values.length ?? 1) } as CSSProperties}
        >
          <thead>
            <tr>
              <td>{[rows?.name, columns?.name].filter(Boolean).join(" / ")}</td>
              {(columns?.values ?? ["as recorded"]).map((value) => (
                <th key={value} scope="col">
                  {value}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {(rows?.values ?? [""]).map((row) => (
              <tr key={row}>
                {row ? <th scope="row">{row}</th> : <td />}
                {(columns?.values ?? [""]).map((column) => {
                  const calls = callsOf(row, column);
                  return (
                    <td key={column} className="num">
                      {draft.samples > 1 && `${draft.samples} × `}
                      {calls === undefined ? "…" : pluralize(calls, "call")}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {gridCount > 1 && (
        <p className="muted">
          {gridCount} grids like this one, for each {rest.map(({ name }) => name).join(" and ")}.
        </p>
      )}
    </section>
  );
}
