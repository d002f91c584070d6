import type { ReactElement } from "react";
import type { UninterceptedTool } from "@/api/schema";
import classes from "./ToolConsent.module.css";

interface Props {
  tools: readonly UninterceptedTool[];
}

const CONSENTS = { review: "reviewed as safe", runner: "allowed by the user of the runner" };

/** The tools that the agent really runs in each start, and who let them. Only the user of the runner can. */
export function ToolConsent({ tools }: Props): ReactElement | null {
  if (tools.length === 0) return null;
  const options = tools.filter(({ consent }) => !consent).map(({ name }) => `--allow-tool ${name}`);
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
      {options.length > 0 && (
        <p>
          Allow them on the terminal of the runner: start it with <code>{options.join(" ")}</code>. Review the harmless
          ones as safe under Tools.
        </p>
      )}
    </section>
  );
}
