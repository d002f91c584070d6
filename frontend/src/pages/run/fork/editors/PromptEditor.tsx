import type { ReactElement } from "react";
import { isObject } from "@/ui/format/json";
import { setField, entryFor } from "../edits";
import { JsonField } from "./fields";
import { TextField } from "@/features/overrides/text/TextField";
import { OutputField } from "./OutputField";
import { type EditorProps } from "./types";

/** Edit the template and variables of a prompt step. */
export function PromptEditor(props: EditorProps): ReactElement {
  const { step, draft, onChange } = props;
  const input = isObject(step.input) ? step.input : {};
  const template = input["template"];
  if (typeof template !== "string") return <OutputField {...props} />;
  const match = { step: step.sequence_no };
  const prompt = entryFor(draft, match)?.prompt;
  const variables = input["variables"];
  return (
    <>
      <TextField
        label="Template"
        recordedText={template}
        value={prompt?.template ?? undefined}
        onChange={(text) => onChange(setField(draft, match, "prompt", "template", text))}
      />
      <JsonField
        label="Variables"
        recordedValue={isObject(variables) ? variables : {}}
        value={prompt?.variables ?? undefined}
        onChange={(value) =>
          onChange(setField(draft, match, "prompt", "variables", isObject(value) ? value : undefined))
        }
      />
    </>
  );
}
