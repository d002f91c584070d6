import { Checkbox, MultiSelect } from "@mantine/core";
import type { ReactElement } from "react";
import type { JsonValue, ModelOverride } from "@/api/schema";
import { pluralize } from "@/ui/format/numbers";
import type { ModelInput } from "@/domain/steps/content";
import { JsonField } from "./fields";
import { LazyDetails } from "@/ui/LazyDetails";
import classes from "../Fork.module.css";
import {
  editedParameters,
  nameOf,
  offerTool,
  optionalFields,
  otherParameters,
  parameterEdits,
  objectProblem,
  parametersProblem,
  toolsProblem,
  type RequestEdits,
} from "./request";

interface Props {
  request: ModelInput;
  model: Partial<ModelOverride>;
  setFields: (fields: RequestEdits) => void;
}

/** Edit the remaining parts of a model request: offered tools, response format, other parameters. */
export function RequestEditor({ request, model, setFields }: Props): ReactElement {
  const edits = model.tools ?? model.response_format ?? model.parameters ?? model.unset;
  const offeredTools = new Set((model.tools ?? request.tools).map(nameOf));
  return (
    <LazyDetails
      className={classes.more}
      hasEdits={edits != null}
      summary={
        <>
          Tools, response format, other parameters{" "}
          <span className="muted">{pluralize(request.tools.length, "tool")}</span>
        </>
      }
    >
      {request.tools.length > 0 && (
        <div className={classes.offered} role="group" aria-label="Offered tools">
          {request.tools.map(nameOf).map((name) => (
            <Checkbox
              key={name}
              size="xs"
              label={name}
              checked={offeredTools.has(name)}
              onChange={(event) => setFields(offerTool(request, model, name, event.currentTarget.checked))}
            />
          ))}
        </div>
      )}
      <JsonField
        label="Tool schemas"
        recordedValue={request.tools}
        value={model.tools ?? undefined}
        check={toolsProblem}
        onChange={(tools) => setFields({ tools: tools as Record<string, JsonValue>[] | undefined })}
      />
      <JsonField
        label="Response format"
        recordedValue={request.rest["response_format"] ?? {}}
        value={model.response_format ?? undefined}
        check={objectProblem}
        rows={1}
        onChange={(format) => setFields({ response_format: format as Record<string, JsonValue> | undefined })}
      />
      <JsonField
        label="Other parameters"
        recordedValue={otherParameters(request)}
        value={editedParameters(request, model)}
        check={parametersProblem}
        rows={1}
        onChange={(next) => setFields(parameterEdits(request, model, next as Record<string, JsonValue> | undefined))}
      />
      <MultiSelect
        label="Omitted from the request"
        data={[...new Set([...optionalFields(request), ...(model.unset ?? [])])]}
        value={model.unset ?? []}
        placeholder={model.unset?.length ? "" : "nothing"}
        data-edited={model.unset !== undefined}
        onChange={(names) => setFields({ unset: names.length > 0 ? names : undefined })}
      />
    </LazyDetails>
  );
}
