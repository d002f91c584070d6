import { Select } from "@mantine/core";
import type { ReactElement } from "react";
import type { JsonValue, ToolOverride } from "@/api/schema";
import { setPart, entryFor } from "../edits";
import { JsonField } from "./fields";
import type { EditorProps } from "./types";
import { callEnds } from "@/domain/overrides/wording";

const statuses = (Object.keys(callEnds) as ToolOverride["status"][]).map((value) => ({
  value,
  label: callEnds[value],
}));

/** What the tool is called with, or what it answers in the fork: then the call itself is not made. */
export function ToolEditor({ step, draft, onChange }: EditorProps): ReactElement {
  const match = { step: step.sequence_no };
  const tool = entryFor(draft, match)?.tool;
  const recorded = statuses.find(({ value }) => value === step.status)?.value ?? "error";
  // An answer and a status that are both as recorded are no override.
  const set = (output: JsonValue, status: ToolOverride["status"]) => {
    const asRecorded = status === recorded && JSON.stringify(output) === JSON.stringify(step.output);
    onChange(setPart(draft, match, "tool", asRecorded ? undefined : { output, status }));
  };
  return (
    <>
      <JsonField
        label={`What ${step.tool_name || step.name} is called with`}
        recorded={step.input}
        value={entryFor(draft, match)?.arguments}
        onChange={(called) => onChange(setPart(draft, match, "arguments", called))}
      />
      <JsonField
        label={`What ${step.tool_name || step.name} answers`}
        recorded={step.output}
        value={tool && JSON.stringify(tool.output) !== JSON.stringify(step.output) ? tool.output : undefined}
        onChange={(output) => set(output === undefined ? step.output : output, tool?.status ?? "ok")}
      />
      <Select
        label="The call"
        data={statuses}
        value={tool?.status ?? recorded}
        allowDeselect={false}
        onChange={(value) =>
          set(tool ? tool.output : step.output, statuses.find((each) => each.value === value)?.value ?? "ok")
        }
      />
    </>
  );
}
