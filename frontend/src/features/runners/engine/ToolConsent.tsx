import type { ReactElement } from "react";
import type { UninterceptedTool } from "@/api/schema";
import { RunnerStart } from "@/features/runners/RunnerStart";
import { toolsToAllow } from "./consent";
import classes from "./ToolConsent.module.css";

interface Props {
  app: string;
  tools: readonly UninterceptedTool[];
  hasRunner: boolean;
}

const CONSENTS = { review: "reviewed as safe", runner: "allowed by the user of the runner" };

/** The tools that the agent really runs in each start, and who let them. Only the user of the runner can. */
export function ToolConsent({ app, tools, hasRunner }: Props): ReactElement | null {
  if (tools.length === 0) return null;
  const names = toolsToAllow(tools, hasRunner);
  return (
    <section className={classes.consent} aria-label="Tools that really run">
      <b>Tools that really run</b>
      <p>
        Nothing intercepts these tools of the agent. Each start calls them again, before the fork too, with all their
        side effects.
      </p>
      <ul>
        {tools.map(({ name, consent }) => (
          <li key={name}>
            <code>{name}</code>: {consent ? CONSENTS[consent] : "not allowed"}
          </li>
        ))}
      </ul>
      {names.length > 0 && (
        <details>
          <summary>Allow them</summary>
          <p>
            Only the user of the runner can, on its terminal. Started with this command, it lets {names.join(", ")}{" "}
            really run in each start of the agent. Review the harmless ones as safe under Tools.
          </p>
          <RunnerStart app={app} allowedTools={names} />
        </details>
      )}
    </section>
  );
}
