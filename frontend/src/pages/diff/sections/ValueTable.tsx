import { UnstyledButton } from "@mantine/core";
import { useState, type ReactElement } from "react";
import type { JsonValue, ValueChange } from "@/api/schema";
import { pluralize } from "@/ui/format/numbers";
import { LongText } from "@/ui/TextView";
import { readablePath, readableValue, typeMatters, typeName } from "./values";
import classes from "./ValueTable.module.css";

/** Rows to render at first. */
const FIRST = 100;

/** Differences between two JSON values, one row per path. */
export function ValueTable({ changes }: { changes: readonly ValueChange[] }): ReactElement {
  const [limit, setLimit] = useState(FIRST);
  const remaining = changes.length - limit;
  return (
    <div className={classes.scroll} tabIndex={0} role="group" aria-label="Changed values">
      <table className={classes.table}>
        <thead>
          <tr>
            <th scope="col">Path</th>
            <th scope="col">Base</th>
            <th scope="col">Candidate</th>
          </tr>
        </thead>
        <tbody>
          {changes.slice(0, limit).map((change) => (
            <tr key={`${change.op} ${change.path}`}>
              <th scope="row" title={change.path}>
                {readablePath(change.path)}
              </th>
              <td>{change.op === "added" ? <AbsentValue /> : <Value change={change} side="base" />}</td>
              <td>{change.op === "removed" ? <AbsentValue /> : <Value change={change} side="candidate" />}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {remaining > 0 && (
        <UnstyledButton className={classes.more} onClick={() => setLimit(changes.length)}>
          Show {pluralize(remaining, "more path")}
        </UnstyledButton>
      )}
    </div>
  );
}

function AbsentValue(): ReactElement {
  return <span className={classes.absent}>absent</span>;
}

function Value({ change, side }: { change: ValueChange; side: "base" | "candidate" }): ReactElement {
  const value: JsonValue = change[side];
  const Tag = side === "base" ? "del" : "ins";
  return (
    <>
      <Tag className={classes.value}>
        <LongText text={readableValue(value)} />
      </Tag>
      {typeMatters(change.base, change.candidate) && <span className={classes.type}>{typeName(value)}</span>}
    </>
  );
}
