import { Checkbox } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { IconPlayerPlay } from "@tabler/icons-react";
import { useState, type ReactElement } from "react";
import { trialsQuery, tryTool } from "@/api/tools/trials";
import type { ToolView } from "@/api/schema";
import { BlockableButton } from "@/ui/buttons/BlockableButton";
import { isObject } from "@/ui/format/json";
import { failureWords } from "@/ui/failure/failure";
import { ArgumentsForm } from "./ArgumentsForm";
import { JsonArea } from "./JsonArea";
import { fieldsOf, missingFields, type Arguments } from "./schemaForm";
import classes from "../ToolsPage.module.css";
import { TrialHistory, TrialResult } from "./TrialResult";

/** Run a tool once, outside of replays, to test its configuration. */
export function ToolTrial({ tool }: { tool: ToolView }): ReactElement {
  const client = useQueryClient();
  const [values, setValues] = useState<Arguments>({});
  const [invalid, setInvalid] = useState<readonly string[]>([]);
  const [isConfirmed, setConfirmed] = useState(false);
  const [shownTrial, setShownTrial] = useState<string | null>(null);
  const start = useMutation({
    mutationFn: () => tryTool({ name: tool.name, arguments: values, confirmed: isConfirmed }),
    onSuccess: ({ id }) => {
      setShownTrial(id);
      void client.invalidateQueries(trialsQuery("tool", tool.name));
    },
  });
  const fields = fieldsOf(tool.parameters);
  const blocker = callBlocker(tool, isConfirmed, invalid, missingFields(fields ?? [], values));
  const mark = (name: string, isInvalid: boolean) =>
    setInvalid([...invalid.filter((item) => item !== name), ...(isInvalid ? [name] : [])]);
  return (
    <div className={classes.trial}>
      {fields ? (
        <ArgumentsForm
          fields={fields}
          values={values}
          onChange={(next, { name, isInvalid }) => {
            setValues(next);
            mark(name, isInvalid);
          }}
        />
      ) : (
        <JsonArea
          label="Arguments"
          placeholder="{}"
          check={(value) => (isObject(value) ? null : "Arguments must be an object.")}
          onChange={(next) => {
            mark("", next === null);
            if (next) setValues(isObject(next.value) ? next.value : {});
          }}
        />
      )}
      {tool.safe !== true && (
        <Checkbox
          checked={isConfirmed}
          onChange={(event) => setConfirmed(event.currentTarget.checked)}
          label="Run it anyway"
          description={
            tool.safe === null
              ? "Not reviewed as safe: running it may have effects that cannot be undone."
              : "Reviewed as having side effects. Running it here performs them."
          }
        />
      )}
      <div>
        <BlockableButton
          leftSection={<IconPlayerPlay size={14} />}
          isBlocked={blocker !== ""}
          reason={blocker}
          loading={start.isPending}
          onClick={() => start.mutate()}
        >
          Test call
        </BlockableButton>
      </div>
      {start.error && (
        <p className="failed" role="alert">
          {failureWords(start.error)}
        </p>
      )}
      {shownTrial && <TrialResult key={shownTrial} id={shownTrial} />}
      <TrialHistory kind="tool" name={tool.name} onShow={setShownTrial} />
    </div>
  );
}

/** Why the tool cannot be called. Empty if it can. */
function callBlocker(
  tool: ToolView,
  isConfirmed: boolean,
  invalid: readonly string[],
  missingFields: readonly string[],
): string {
  if (invalid.length > 0) return "An argument is not valid JSON";
  if (missingFields.length > 0) return `Missing: ${missingFields.join(", ")}`;
  return tool.safe === true || isConfirmed ? "" : "Confirm that it may run";
}
