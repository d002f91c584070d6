import { setPart, entryFor } from "../edits";
import { JsonField } from "./fields";
import type { EditorProps } from "./types";
import type { ReactElement } from "react";

/** Override the output of a step. */
export function OutputField({ step, draft, onChange }: Omit<EditorProps, "engine">): ReactElement {
  const match = { step: step.sequence_no };
  const entry = entryFor(draft, match);
  return (
    <JsonField
      label={`Override the output of step ${step.sequence_no}`}
      recordedValue={step.output}
      value={entry && "output" in entry ? entry.output : undefined}
      onChange={(output) => onChange(setPart(draft, match, "output", output))}
    />
  );
}
