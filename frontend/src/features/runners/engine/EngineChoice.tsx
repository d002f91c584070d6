import { Loader, SegmentedControl } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactElement, ReactNode } from "react";
import type { Engine, RunnerView, UninterceptedTool } from "@/api/schema";
import { paths } from "@/app/paths";
import { RunnerStart } from "@/features/runners/RunnerStart";
import { ToolConsent } from "./ToolConsent";
import { runnersWords } from "./wording";
import classes from "./EngineChoice.module.css";

const ENGINES: { value: Engine; label: string }[] = [
  { value: "follow", label: "Follow the recording" },
  { value: "agent", label: "Run the agent" },
];

interface Props {
  app: string;
  /** Undefined while the server chooses. */
  engine: Engine | undefined;
  /** The runners of the app that are online; undefined while they are not known. */
  runners: readonly RunnerView[] | undefined;
  onChange: (engine: Engine) => void;
  /** What happens where the recording is followed. */
  following?: string;
  /** Tools of the agent that really run, because nothing intercepts them. */
  tools?: readonly UninterceptedTool[];
  /** What may be set for the agent where a runner is online. */
  children?: ReactNode;
}

const FOLLOWING = "Forkpoint repeats the recorded steps and calls the models and safe tools that the change reaches.";

/** Who decides what the replay does: the recording, or the agent's own code. */
export function EngineChoice(props: Props): ReactElement {
  const { app, engine, runners, onChange, following = FOLLOWING, tools = [], children } = props;
  return (
    <section className={classes.engine} aria-label="Engine">
      <SegmentedControl<Engine | "">
        fullWidth
        size="xs"
        aria-label="What the replay does"
        data={ENGINES}
        value={engine ?? ""}
        onChange={(value) => value !== "" && onChange(value)}
      />
      {engine === undefined ? (
        <p>Planning…</p>
      ) : engine === "follow" ? (
        <p>{following}</p>
      ) : runners === undefined ? (
        <p>Looking for runners of {app}…</p>
      ) : runners.length > 0 ? (
        <>
          <p>
            <Link {...paths.runners()}>{runnersWords(runners)}</Link> starts the agent, whose own code decides every
            step. Recorded calls get their recorded answers.
          </p>
          <ToolConsent app={app} tools={tools} hasRunner />
          {children}
        </>
      ) : (
        <>
          <NoRunner app={app} />
          <ToolConsent app={app} tools={tools} hasRunner={false} />
        </>
      )}
    </section>
  );
}

function NoRunner({ app }: { app: string }): ReactElement {
  return (
    <>
      <p role="status">
        No runner of {app} is online. Start one where the agent is installed, with the command of your agent:
      </p>
      <RunnerStart app={app} />
      <p className={classes.waiting}>
        <Loader size={11} aria-hidden /> Waiting for a runner…
      </p>
    </>
  );
}
