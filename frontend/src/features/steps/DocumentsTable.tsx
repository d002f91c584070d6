import { useState, type ReactElement } from "react";
import { entriesOf, preview } from "@/ui/format/json";
import { pluralize } from "@/ui/format/numbers";
import { TextView } from "@/ui/TextView";
import type { Document } from "@/domain/steps/content";
import classes from "./DocumentsTable.module.css";

/** Documents to show at first. */
const VISIBLE_LIMIT = 50;

/** Retrieved documents in rank order. */
export function DocumentsTable({ documents }: { documents: Document[] }): ReactElement {
  const [showAll, setShowAll] = useState(false);
  const best = Math.max(...documents.map((document) => document.score ?? 0), 0);
  if (documents.length === 0) return <p className="muted">No documents found.</p>;
  return (
    <>
      <table className={classes.table}>
        <thead>
          <tr>
            <th scope="col">Rank</th>
            <th scope="col">Document</th>
            <th scope="col">Score</th>
          </tr>
        </thead>
        <tbody>
          {documents.slice(0, showAll ? undefined : VISIBLE_LIMIT).map((document, index) => (
            <tr key={index}>
              <td className="num">{index + 1}</td>
              <td>
                <b>{document.title || `Document ${document.id}`}</b>{" "}
                {document.title !== document.id && <code className="muted">{document.id}</code>}
                <TextView text={document.content} limit={320} />
                <div className="muted mono">
                  {entriesOf(document.metadata)
                    .map(([name, value]) => `${name}: ${preview(value, 40)}`)
                    .join(" · ")}
                </div>
              </td>
              <td className="num">
                {document.score === null ? "–" : document.score.toFixed(3)}
                {document.score !== null && best > 0 && (
                  <span className={classes.score} aria-hidden>
                    <i style={{ width: `${Math.max(0, (document.score / best) * 100)}%` }} />
                  </span>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {documents.length > VISIBLE_LIMIT && !showAll && (
        <button type="button" className={classes.fold} onClick={() => setShowAll(true)}>
          Show {pluralize(documents.length - VISIBLE_LIMIT, "more document")}
        </button>
      )}
    </>
  );
}
