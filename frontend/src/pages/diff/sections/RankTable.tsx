import { IconArrowDown, IconArrowUp, IconMinus, IconPlus, IconX } from "@tabler/icons-react";
import type { ReactElement } from "react";
import type { RankChange, RankComparison } from "@/api/schema";
import { inRankOrder, movement } from "./values";
import table from "../DiffTable.module.css";
import classes from "./RankTable.module.css";

/** Changes of a ranking, in the candidate's order. */
export function RankTable({ ranks }: { ranks: RankComparison }): ReactElement {
  return (
    <div className={classes.block}>
      <p className={classes.measures}>
        Overlap weighted by rank <b className="num">{ranks.rbo.toFixed(2)}</b>
        <span>
          order of the shared documents{" "}
          <b className="num">
            {ranks.kendall_tau === null ? "too few documents" : `τ ${ranks.kendall_tau.toFixed(2)}`}
          </b>
        </span>
      </p>
      <div className={table.scroll} tabIndex={0} role="group" aria-label="Ranking">
        <table className={table.table}>
          <thead>
            <tr>
              <th scope="col">Document</th>
              <th scope="col" className={classes.figure}>
                Base
              </th>
              <th scope="col">Movement</th>
              <th scope="col" className={classes.figure}>
                Candidate
              </th>
              <th scope="col" className={classes.figure}>
                Score
              </th>
            </tr>
          </thead>
          <tbody>
            {inRankOrder(ranks.changes).map((change) => (
              <Row key={change.document} change={change} />
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

function Row({ change }: { change: RankChange }): ReactElement {
  const { words } = movement(change);
  return (
    <tr className={classes[change.op]}>
      <th scope="row">
        {change.title || change.document}
        {change.title && change.title !== change.document && <span className={classes.type}>{change.document}</span>}
      </th>
      <td className={classes.figure}>{change.base_rank ?? "–"}</td>
      <td className={classes.move}>
        <Direction change={change} /> {words}
      </td>
      <td className={classes.figure}>{change.candidate_rank ?? "–"}</td>
      <td className={classes.figure}>{scores(change)}</td>
    </tr>
  );
}

function scores({ base_score: base, candidate_score: candidate }: RankChange): string {
  if (base === null && candidate === null) return "–";
  if (base === null || candidate === null || base === candidate) return (base ?? candidate ?? 0).toFixed(3);
  return `${base.toFixed(3)} → ${candidate.toFixed(3)}`;
}

function Direction({ change }: { change: RankChange }): ReactElement {
  const props = { size: 13, stroke: 2.2, "aria-hidden": true };
  switch (change.op) {
    case "added":
      return <IconPlus {...props} />;
    case "removed":
      return <IconX {...props} />;
    case "moved":
      return movement(change).places > 0 ? <IconArrowUp {...props} /> : <IconArrowDown {...props} />;
    case "same":
    case "rescored":
      return <IconMinus {...props} />;
    default:
      return change.op satisfies never;
  }
}
