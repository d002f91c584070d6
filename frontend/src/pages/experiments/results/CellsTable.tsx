import type { ReactElement } from "react";
import type { CellView } from "@/api/schema";
import { duration, money, tokens } from "@/ui/format/numbers";
import list from "@/ui/ListPage.module.css";
import { score } from "@/domain/diffs/score";
import { intervalText, remarks } from "./heat/figures";
import classes from "../Experiments.module.css";

type Spread = CellView["ars"];

interface Props {
  cells: readonly CellView[];
  nameOf: (cell: CellView) => string;
  best: number | null;
  hasChecks: boolean;
}

/** The figures of each combination, the highest pass rate first; means, with minimum and maximum if they differ. */
export function CellsTable({ cells, nameOf, best, hasChecks }: Props): ReactElement {
  const rank = (cell: CellView) => (cell.cell === best ? 2 : (cell.pass_rate ?? -1));
  const sortedCells = cells.toSorted((a, b) => rank(b) - rank(a));
  return (
    <div className={list.scroll} tabIndex={0} role="group" aria-label="Combinations, scrollable">
      <table className={`${list.table} ${list.stacking} ${classes.table}`}>
        <thead>
          <tr>
            <th scope="col">Combination</th>
            {[...(hasChecks ? ["Passed", "95 % interval"] : []), "Answer similarity", "Tokens", "Cost", "Latency"].map(
              (title) => (
                <th key={title} scope="col" className={list.figure}>
                  {title}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>
          {sortedCells.map((cell) => (
            <tr key={cell.cell}>
              <th scope="row">
                {nameOf(cell)} {cell.cell === best && <span className="chip">Best</span>}
                {remarks(cell).length > 0 && <span className={list.sub}>{remarks(cell).join(" · ")}</span>}
              </th>
              {hasChecks && (
                <>
                  <td data-label="Passed" className={list.figure}>
                    {cell.verdicts > 0 ? `${cell.passed} of ${cell.verdicts}` : "–"}
                  </td>
                  <td data-label="95 % interval" className={`${list.figure} muted`}>
                    {intervalText(cell) || "–"}
                  </td>
                </>
              )}
              <Figure title="Answer similarity" spread={cell.output_similarity} format={score} />
              <Figure title="Tokens" spread={cell.tokens} format={(value) => tokens(Math.round(value))} />
              <Figure title="Cost" spread={cell.cost_usd} format={money} />
              <Figure title="Latency" spread={cell.latency_ms} format={duration} />
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Figure(props: { title: string; spread: Spread; format: (value: number) => string }): ReactElement {
  const { title, spread, format } = props;
  const [low, high] = spread ? [format(spread.min), format(spread.max)] : ["", ""];
  return (
    <td data-label={title} className={list.figure}>
      {spread ? format(spread.mean) : "–"}
      {low !== high && (
        <span className={list.sub}>
          {low} to {high}
        </span>
      )}
    </td>
  );
}
