import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { runQuery } from "@/api/runs/runs";
import type { SessionView } from "@/api/schema";
import { paths } from "@/app/paths";
import { waitsForConsent } from "@/domain/replays/status";
import { RunnerStart } from "@/features/runners/RunnerStart";
import classes from "./Question.module.css";

/** Tools that the model or the agent calls, and how the user of a runner allows them. */
export function Consent({ session }: { session: SessionView }): ReactElement | null {
  const { tools_to_allow: tools } = session;
  const { data: source } = useQuery({ ...runQuery(session.source_run), enabled: tools.length > 0 });
  if (tools.length === 0) return null;
  return (
    <section className={`panel ${classes.panel}`} aria-labelledby="consent">
      <h2 id="consent">Allow {tools.join(", ")}?</h2>
      <p>
        {waitsForConsent(session)
          ? "The agent made a call that the recording does not have, or its model asked for one, and nobody allowed it. " +
            "Start a runner that allows it: the agent starts from the beginning, and gets the answers of its model " +
            "without paying for them again."
          : "The agent made a call that the recording does not have, and was ended, because nobody allowed it. " +
            "Start a runner that allows it, and fork again."}
      </p>
      {source && <RunnerStart app={source.app} allowedTools={tools} />}
      <p className="muted">
        It lets {tools.join(", ")} really run, with all side effects. If that is harmless, review it as safe under{" "}
        <Link {...paths.tools()} className={classes.link}>
          Tools
        </Link>{" "}
        instead.{waitsForConsent(session) && " To stop here, cancel the replay."}
      </p>
    </section>
  );
}
