import type { ReactElement } from "react";
import type { CellView } from "@/api/schema";
import { duration, money, tokens } from "@/ui/format/numbers";
import list from "@/ui/ListPage.module.css";
import { score } from "@/domain/diffs/score";
import { cellName } from "../measures";
import classes from "../Experiments.module.css";

type Spread = CellView["ars"];

/** Each combination with the mean of its samples; least and most beneath, where they differ. */
export function CellsTable({ cells, checked }: { cells: readonly CellView[]; checked: boolean }): ReactElement {
  return (
    <div className={list.scroll} tabIndex={0} role="group" aria-label="Combinations, scrollable">
      <table className={`${list.table} ${classes.table}`}>
        <thead>
          <tr>
            <th scope="col">Combination</th>
            <th scope="col" className={list.figure}>
              Done
            </th>
            {checked && (
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
              {checked && (
                <td className={list.figure}>
                  {cell.pass_rate === null ? "–" : `${Math.round(cell.pass_rate * 100)} %`}
                </td>
              )}
              <Figure of={cell.ars} say={score} />
              <Figure of={cell.output_similarity} say={score} />
              <Figure of={cell.tokens} say={(value) => tokens(Math.round(value))} />
              <Figure of={cell.cost_usd} say={money} />
              <Figure of={cell.latency_ms} say={duration} />
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Figure({ of, say }: { of: Spread; say: (value: number) => string }): ReactElement {
  if (of === null) return <td className={list.figure}>–</td>;
  const [least, most] = [say(of.min), say(of.max)];
  return (
    <td className={list.figure}>
      {say(of.mean)}
      {least !== most && (
        <span className={list.sub}>
          {least} to {most}
        </span>
      )}
    </td>
  );
}
