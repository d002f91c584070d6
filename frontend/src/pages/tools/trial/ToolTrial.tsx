import { Button, Checkbox, Tooltip } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { IconPlayerPlay } from "@tabler/icons-react";
import { useState, type ReactElement } from "react";
import { trialsQuery, tryTool } from "@/api/tools/trials";
import type { ToolView } from "@/api/schema";
import { isObject } from "@/ui/format/json";
import { ArgumentsForm } from "./ArgumentsForm";
import { JsonArea } from "./JsonArea";
import { fieldsOf, missing, type Arguments } from "./schemaForm";
import classes from "../ToolsPage.module.css";
import { TrialHistory, TrialResult } from "./TrialResult";

/** Runs a tool once, outside of any replay, to see whether it is configured as it should be. */
export function ToolTrial({ tool }: { tool: ToolView }): ReactElement {
  const client = useQueryClient();
  const [given, setGiven] = useState<Arguments>({});
  const [invalid, setInvalid] = useState<readonly string[]>([]);
  const [confirmed, setConfirmed] = useState(false);
  const [shown, setShown] = useState<string | null>(null);
  const start = useMutation({
    mutationFn: () => tryTool({ name: tool.name, arguments: given, confirmed }),
    onSuccess: ({ id }) => {
      setShown(id);
      void client.invalidateQueries(trialsQuery("tool", tool.name));
    },
  });
  const fields = fieldsOf(tool.parameters);
  const why = whyNot(tool, confirmed, invalid, missing(fields ?? [], given));
  const mark = (name: string, isInvalid: boolean) =>
    setInvalid([...invalid.filter((each) => each !== name), ...(isInvalid ? [name] : [])]);
  return (
    <div className={classes.trial}>
      {fields ? (
        <ArgumentsForm
          fields={fields}
          given={given}
          onChange={(next, { name, isInvalid }) => {
            setGiven(next);
            mark(name, isInvalid);
          }}
        />
      ) : (
        <JsonArea
          label="Arguments"
          placeholder="{}"
          check={(value) => (isObject(value) ? null : "Arguments are an object.")}
          onChange={(next) => {
            mark("", next === null);
            if (next) setGiven(isObject(next.value) ? next.value : {});
          }}
        />
      )}
      {tool.safe !== true && (
        <Checkbox
          checked={confirmed}
          onChange={(event) => setConfirmed(event.currentTarget.checked)}
          label="Run it all the same"
          description={
            tool.safe === null
              ? "Nobody has reviewed it as safe: it may do something that cannot be undone."
              : "It was reviewed as a side effect: this call really does what it does."
          }
        />
      )}
      <div>
        <Tooltip label={why} disabled={why === ""}>
          <Button
            leftSection={<IconPlayerPlay size={14} />}
            data-disabled={why !== "" || undefined}
            aria-disabled={why !== ""}
            loading={start.isPending}
            onClick={() => why === "" && start.mutate()}
          >
            Test call
          </Button>
        </Tooltip>
      </div>
      {start.error && (
        <p className="failed" role="alert">
          {start.error.message}
        </p>
      )}
      {shown && <TrialResult key={shown} id={shown} />}
      <TrialHistory kind="tool" name={tool.name} onShow={setShown} />
    </div>
  );
}

/** Why it cannot be called yet; empty when it can. */
function whyNot(tool: ToolView, confirmed: boolean, invalid: readonly string[], wanted: readonly string[]): string {
  if (invalid.length > 0) return "An argument is not JSON yet";
  if (wanted.length > 0) return `Still to give: ${wanted.join(", ")}`;
  return tool.safe === true || confirmed ? "" : "Confirm first that it may run";
}
