import { UnstyledButton } from "@mantine/core";
import { useState, type ReactElement } from "react";
import type { DiffPlace, JsonValue, ValueChange } from "@/api/schema";
import { pluralize } from "@/ui/format/numbers";
import { LongText } from "@/ui/TextView";
import { LineComments, moveBetweenLines } from "../comments/LineComments";
import { readablePath, readableValue, scalarName, scalarWords, typeMatters, typeName } from "./values";
import classes from "./ValueRows.module.css";

/** Rows to render at first. */
const FIRST = 100;

/** Differences between two JSON values: the name of each, and both values. */
export function ValueRows({ changes, place }: { changes: readonly ValueChange[]; place: DiffPlace }): ReactElement {
  const [limit, setLimit] = useState(FIRST);
  const remaining = changes.length - limit;
  return (
    <dl className={classes.rows} aria-label="Changed values" onKeyDown={moveBetweenLines}>
      {changes.slice(0, limit).map((change) => (
        <div key={`${change.op} ${change.path}`}>
          <dt title={change.path}>{readablePath(change.path)}</dt>
          <dd>{change.op === "added" ? <AbsentValue /> : <Value change={change} side="base" />}</dd>
          <dd>{change.op === "removed" ? <AbsentValue /> : <Value change={change} side="candidate" />}</dd>
          {/* The root of a value has an empty path. */}
          {change.path !== "" && (
            <LineComments Tag="dd" place={{ ...place, part: change.path }} subjectWords={readablePath(change.path)} />
          )}
        </div>
      ))}
      {remaining > 0 && (
        <div>
          <dd className={classes.more}>
            <UnstyledButton onClick={() => setLimit(changes.length)}>
              Show {pluralize(remaining, "more value")}
            </UnstyledButton>
          </dd>
        </div>
      )}
    </dl>
  );
}

function AbsentValue(): ReactElement {
  return <span className={classes.absent}>not present</span>;
}

function Value({ change, side }: { change: ValueChange; side: "base" | "candidate" }): ReactElement {
  const value: JsonValue = change[side];
  const Tag = side === "base" ? "del" : "ins";
  // Marked, it would be an empty spot.
  if (value === "") return <span className={classes.absent}>empty text</span>;
  return (
    <>
      <Tag className={classes.value}>
        <LongText text={readableValue(value)} />
      </Tag>
      {typeMatters(change.base, change.candidate) && <span className={classes.type}>{typeName(value)}</span>}
    </>
  );
}

/** Totals of the two runs as names and values, in plain ink: more tokens are no error. */
export function Scalars({ changes, kind }: { changes: readonly ValueChange[]; kind: string }): ReactElement {
  return (
    <dl className={`${classes.scalars} num`}>
      {changes.map((change) => (
        <div key={change.path}>
          <dt>{scalarName(change.path, kind)}</dt>
          <dd>
            {scalarWords(change.path, change.op === "added" ? null : change.base)} →{" "}
            {scalarWords(change.path, change.op === "removed" ? null : change.candidate)}
          </dd>
        </div>
      ))}
    </dl>
  );
}
