import { Tooltip } from "@mantine/core";
import type { ReactElement, ReactNode } from "react";
import { pluralize } from "@/ui/format/numbers";
import { score } from "@/domain/diffs/score";
import { useReport } from "../reportContext";
import { METHOD } from "../wording";
import { costDelta, durationDelta, tokenDelta } from "./deltas";
import classes from "./Verdict.module.css";

/** The figures of the comparison, in plain ink. */
export function Figures(): ReactElement {
  const { scores, deltas } = useReport().report;
  const { tools } = scores;
  const method = METHOD[scores.similarity_method] ?? scores.similarity_method;
  return (
    <dl className={`${classes.figures} num`}>
      <Figure
        name="Answer similarity"
        hint={`Average similarity of the answers of all turns (${method}).`}
        note={`(${method})`}
      >
        {score(scores.output_similarity)}
      </Figure>
      {tools.total_original > 0 && (
        <Figure
          name="Tools"
          hint={`${tools.used_original} of ${pluralize(tools.total_original, "recorded tool call")} made again, ${tools.new} new, ${tools.unused} unused.`}
          note="the same"
        >
          {tools.used_original} of {tools.total_original}
        </Figure>
      )}
      <Figure name="Tokens">{tokenDelta(deltas.tokens)}</Figure>
      <Figure name="Cost">{costDelta(deltas.cost_usd)}</Figure>
      <Figure name="Duration">{durationDelta(deltas.duration_ms)}</Figure>
    </dl>
  );
}

function Figure(props: { name: string; hint?: string; note?: string; children: ReactNode }): ReactElement {
  const content = (
    <div {...(props.hint && { tabIndex: 0 })}>
      <dt>{props.name}</dt>
      <dd>
        <b>{props.children}</b> {props.note}
      </dd>
    </div>
  );
  return props.hint ? <Tooltip label={props.hint}>{content}</Tooltip> : content;
}
