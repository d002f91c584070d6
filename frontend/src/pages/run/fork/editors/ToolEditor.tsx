import { Select } from "@mantine/core";
import type { ReactElement } from "react";
import type { JsonValue, ToolOverride } from "@/api/schema";
import { setPart, entryFor } from "../edits";
import { JsonField } from "./fields";
import type { EditorProps } from "./types";
import { callOutcome } from "@/domain/overrides/wording";

const statuses = (Object.keys(callOutcome) as ToolOverride["status"][]).map((value) => ({
  value,
  label: callOutcome[value],
}));

/** Edit the arguments of a tool, or its result. With a new result, the call itself is not made. */
export function ToolEditor({ step, draft, onChange }: EditorProps): ReactElement {
  const match = { step: step.sequence_no };
  const tool = entryFor(draft, match)?.tool;
  const recordedStatus = statuses.find(({ value }) => value === step.status)?.value ?? "error";
  // A result and status that both equal the recording are no override.
  const setAnswer = (output: JsonValue, status: ToolOverride["status"]) => {
    const asRecorded = status === recordedStatus && JSON.stringify(output) === JSON.stringify(step.output);
    onChange(setPart(draft, match, "tool", asRecorded ? undefined : { output, status }));
  };
  return (
    <>
      <JsonField
        label={`Arguments of ${step.tool_name || step.name}`}
        recordedValue={step.input}
        value={entryFor(draft, match)?.arguments}
        onChange={(newArguments) => onChange(setPart(draft, match, "arguments", newArguments))}
      />
      <JsonField
        label={`Result of ${step.tool_name || step.name}`}
        recordedValue={step.output}
        value={tool && JSON.stringify(tool.output) !== JSON.stringify(step.output) ? tool.output : undefined}
        onChange={(output) => setAnswer(output === undefined ? step.output : output, tool?.status ?? "ok")}
      />
      <Select
        label="Outcome of the call"
        data={statuses}
        value={tool?.status ?? recordedStatus}
        allowDeselect={false}
        onChange={(value) =>
          setAnswer(tool ? tool.output : step.output, statuses.find((item) => item.value === value)?.value ?? "ok")
        }
      />
    </>
  );
}
