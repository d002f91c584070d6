import { UnstyledButton } from "@mantine/core";
import { useState, type ReactElement } from "react";
import type { JsonValue, ValueChange } from "@/api/schema";
import { counted } from "@/ui/format/numbers";
import { LongText } from "@/ui/TextView";
import { readablePath, readableValue, typeMatters, typeName } from "./values";
import classes from "./ValueTable.module.css";

/** Rows drawn before the rest is asked for. */
const FIRST = 100;

/** Differences between two JSON values, one path a row. */
export function ValueTable({ changes }: { changes: readonly ValueChange[] }): ReactElement {
  const [shown, setShown] = useState(FIRST);
  const rest = changes.length - shown;
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
          {changes.slice(0, shown).map((change) => (
            <tr key={`${change.op} ${change.path}`}>
              <th scope="row" title={change.path}>
                {readablePath(change.path)}
              </th>
              <td>{change.op === "added" ? <Absent /> : <Value change={change} side="base" />}</td>
              <td>{change.op === "removed" ? <Absent /> : <Value change={change} side="candidate" />}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {rest > 0 && (
        <UnstyledButton className={classes.more} onClick={() => setShown(changes.length)}>
          Show {counted(rest, "more path")}
        </UnstyledButton>
      )}
    </div>
  );
}

function Absent(): ReactElement {
  return <span className={classes.absent}>not there</span>;
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
