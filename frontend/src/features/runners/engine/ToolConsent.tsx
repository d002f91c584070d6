import { Checkbox } from "@mantine/core";
import type { ReactElement } from "react";
import type { UninterceptedTool } from "@/api/schema";
import classes from "./ToolConsent.module.css";

interface Props {
  tools: readonly UninterceptedTool[];
  /** The tools that the user allows. */
  toolNames: readonly string[];
  onChange: (toolNames: string[]) => void;
}

/** Consent to the tools that the agent really runs in each start, because nothing intercepts them: one by one. */
export function ToolConsent({ tools, toolNames, onChange }: Props): ReactElement | null {
  if (tools.length === 0) return null;
  const decidedTools = tools.filter(({ consent }) => consent === "review" || consent === "runner");
  return (
    <fieldset className={classes.consent}>
      <legend>Tools that really run</legend>
      <p>
        Nothing intercepts these tools of the agent. Each start calls them again, before the fork too, with all their
        side effects. Allow each one that may run:
      </p>
      {tools
        .filter((tool) => !decidedTools.includes(tool))
        .map(({ name }) => (
          <Checkbox
            key={name}
            size="xs"
            label={name}
            checked={toolNames.includes(name)}
            onChange={(event) =>
              onChange(
                event.currentTarget.checked ? [...toolNames, name] : toolNames.filter((toolName) => toolName !== name),
              )
            }
          />
        ))}
      {decidedTools.map(({ name, consent }) => (
        <p key={name}>
          <b>{name}</b>: {consent === "review" ? "reviewed as safe" : "allowed by the user of the runner"}
        </p>
      ))}
    </fieldset>
  );
}
