import { SegmentedControl } from "@mantine/core";
import { useState, type ReactElement } from "react";
import type { RunUsage, UsageSum } from "@/api/schema";
import { tokens } from "@/ui/format/numbers";
import { callWords, costWords, tokenCounts } from "./usage";
import classes from "./UsageTable.module.css";

/** Tokens and cost by turn or by model, with a total. */
export function UsageTable({ usage }: { usage: RunUsage }): ReactElement {
  const [grouping, setGrouping] = useState("turns");
  const rows =
    grouping === "turns"
      ? usage.turns.map((turn) => ({
          key: turn.step,
          title: turn.name || `Turn ${turn.turn}`,
          note: `step ${turn.step}${turn.models.length > 0 ? ` · ${turn.models.join(", ")}` : ""}`,
          usage: turn.usage,
        }))
      : usage.models.map((model) => ({
          key: `${model.provider}/${model.model}`,
          title: model.model || "unnamed model",
          note: model.provider,
          usage: model.usage,
        }));
  return (
    <>
      <div className={classes.pick}>
        <SegmentedControl
          size="xs"
          aria-label="Usage by"
          value={grouping}
          onChange={setGrouping}
          data={[
            { value: "turns", label: "By turn" },
            { value: "models", label: "By model" },
          ]}
        />
      </div>
      <div className={classes.scroll} tabIndex={0} role="region" aria-label="Tokens and cost">
        <table className={`${classes.table} num`}>
          <thead>
            <tr>
              <th scope="col">{grouping === "turns" ? "Turn" : "Model"}</th>
              <th scope="col">In</th>
              <th scope="col">Cached</th>
              <th scope="col">Out</th>
              <th scope="col">Cost</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.key}>
                <th scope="row">
                  {row.title}
                  <span className={classes.sub}>
                    {row.note && `${row.note} · `}
                    {callWords(row.usage)}
                  </span>
                </th>
                <Figures usage={row.usage} />
              </tr>
            ))}
          </tbody>
          <tfoot>
            <tr>
              <th scope="row">
                Total <span className={classes.sub}>{callWords(usage.total)}</span>
              </th>
              <Figures usage={usage.total} />
            </tr>
          </tfoot>
        </table>
      </div>
    </>
  );
}

function Figures({ usage }: { usage: UsageSum }): ReactElement {
  return (
    <>
      {tokenCounts(usage).map((count, column) => (
        <td key={column}>{tokens(count)}</td>
      ))}
      <td title={usage.unpriced_calls > 0 ? "The cost of some calls is unknown" : undefined}>{costWords(usage)}</td>
    </>
  );
}
