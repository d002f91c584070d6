import type { ReactElement } from "react";
import type { CellView } from "@/api/schema";
import { duration, money, tokens } from "@/ui/format/numbers";
import list from "@/ui/ListPage.module.css";
import { score } from "@/domain/diffs/score";
import { cellName } from "../measures";
import classes from "../Experiments.module.css";

type Spread = CellView["ars"];

/** The mean of each combination, with minimum and maximum below if they differ. */
export function CellsTable({ cells, hasChecks }: { cells: readonly CellView[]; hasChecks: boolean }): ReactElement {
  return (
    <div className={list.scroll} tabIndex={0} role="group" aria-label="Combinations, scrollable">
      <table className={`${list.table} ${classes.table}`}>
        <thead>
          <tr>
            <th scope="col">Combination</th>
            <th scope="col" className={list.figure}>
              Done
            </th>
            {hasChecks && (
              <th scope="col" className={list.figure}>
                Passed
              </th>
            )}
            <th scope="col" className={list.figure}>
              ARS
            </th>
            <th scope="col" className={list.figure}>
              Similarity
            </th>
            <th scope="col" className={list.figure}>
              Tokens
            </th>
            <th scope="col" className={list.figure}>
              Cost
            </th>
            <th scope="col" className={list.figure}>
              Latency
            </th>
          </tr>
        </thead>
        <tbody>
          {cells.map((cell) => (
            <tr key={cell.cell}>
              <th scope="row">{cellName(cell.settings)}</th>
              <td className={list.figure}>
                {cell.finished}/{cell.rows}
                {cell.failed > 0 && <b className="failed"> · {cell.failed} failed</b>}
              </td>
              {hasChecks && (
                <td className={list.figure}>
                  {cell.pass_rate === null ? "–" : `${Math.round(cell.pass_rate * 100)} %`}
                </td>
              )}
              <Figure spread={cell.ars} format={score} />
              <Figure spread={cell.output_similarity} format={score} />
              <Figure spread={cell.tokens} format={(value) => tokens(Math.round(value))} />
              <Figure spread={cell.cost_usd} format={money} />
              <Figure spread={cell.latency_ms} format={duration} />
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Figure({ spread, format }: { spread: Spread; format: (value: number) => string }): ReactElement {
  if (spread === null) return <td className={list.figure}>–</td>;
  const [least, greatest] = [format(spread.min), format(spread.max)];
  return (
    <td className={list.figure}>
      {format(spread.mean)}
      {least !== greatest && (
        <span className={list.sub}>
          {least} to {greatest}
        </span>
      )}
    </td>
  );
}
