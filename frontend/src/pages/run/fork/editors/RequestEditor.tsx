import { Checkbox, MultiSelect } from "@mantine/core";
import type { ReactElement } from "react";
import type { JsonValue, ModelOverride } from "@/api/schema";
import { counted } from "@/ui/format/numbers";
import type { ModelInput } from "@/domain/steps/content";
import { JsonField } from "./fields";
import { Folded } from "@/ui/LazyDetails";
import classes from "../Fork.module.css";
import {
  editedOthers,
  nameOf,
  offering,
  optional,
  others,
  othersTo,
  wrongObject,
  wrongOthers,
  wrongTools,
  type RequestEdits,
} from "./request";

interface Props {
  request: ModelInput;
  model: Partial<ModelOverride>;
  set: (fields: RequestEdits) => void;
}

/** What else a model is asked with: the tools that it is offered, the form of its answer, further parameters. */
export function RequestEditor({ request, model, set }: Props): ReactElement {
  const edited = model.tools ?? model.response_format ?? model.parameters ?? model.unset;
  const offered = new Set((model.tools ?? request.tools).map(nameOf));
  return (
    <Folded
      className={classes.more}
      edited={edited != null}
      summary={
        <>
          Tools, response format, other parameters{" "}
          <span className="muted">{counted(request.tools.length, "tool")}</span>
        </>
      }
    >
      {request.tools.length > 0 && (
        <div className={classes.offered} role="group" aria-label="Tools that it is offered">
          {request.tools.map(nameOf).map((name) => (
            <Checkbox
              key={name}
              size="xs"
              label={name}
              checked={offered.has(name)}
              onChange={(event) => set(offering(request, model, name, event.currentTarget.checked))}
            />
          ))}
        </div>
      )}
      <JsonField
        label="Tool schemas"
        recorded={request.tools}
        value={model.tools ?? undefined}
        check={wrongTools}
        onChange={(tools) => set({ tools: tools as Record<string, JsonValue>[] | undefined })}
      />
      <JsonField
        label="Response format"
        recorded={request.rest["response_format"] ?? {}}
        value={model.response_format ?? undefined}
        check={wrongObject}
        rows={1}
        onChange={(format) => set({ response_format: format as Record<string, JsonValue> | undefined })}
      />
      <JsonField
        label="Other parameters"
        recorded={others(request)}
        value={editedOthers(request, model)}
        check={wrongOthers}
        rows={1}
        onChange={(next) => set(othersTo(request, model, next as Record<string, JsonValue> | undefined))}
      />
      <MultiSelect
        label="Left out of the request"
        data={[...new Set([...optional(request), ...(model.unset ?? [])])]}
        value={model.unset ?? []}
        placeholder={model.unset?.length ? "" : "nothing"}
        data-edited={model.unset !== undefined}
        onChange={(names) => set({ unset: names.length > 0 ? names : undefined })}
      />
    </Folded>
  );
}
