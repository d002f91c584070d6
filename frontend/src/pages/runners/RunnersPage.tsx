import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { runnersQuery } from "@/api/replays/runners";
import type { RunnerView } from "@/api/schema";
import { paths } from "@/app/paths";
import { StateChip } from "@/features/labels/StateChip";
import { shellWords } from "@/features/runners/command";
import { RunnerStart } from "@/features/runners/RunnerStart";
import { fullTime, timeAgo } from "@/ui/format/numbers";
import { LoadedList } from "@/ui/ListPage";
import { Page, PageHeader } from "@/ui/Page";
import list from "@/ui/ListPage.module.css";
import classes from "./RunnersPage.module.css";
import { usePageTitle } from "@/ui/brand/usePageTitle";

/** The programs that start agents for replays, and how to start one. */
export function RunnersPage(): ReactElement {
  usePageTitle("Runners");
  const listing = useQuery(runnersQuery());
  return (
    <Page>
      <PageHeader
        crumbs={[<Link {...paths.settings()}>Settings</Link>]}
        title="Runners"
        note="A runner starts your agent where it is installed, so that a replay can run its code. It opens no port and runs only the command that it was started with."
      />
      <LoadedList listing={listing}>
        {({ runners }) => (
          <section className="panel" aria-label="Runners">
            {runners.length > 0 && <Table runners={runners} />}
            <Start isFirst={runners.length === 0} />
          </section>
        )}
      </LoadedList>
    </Page>
  );
}

function Start({ isFirst }: { isFirst: boolean }): ReactElement {
  return (
    <div className={classes.start}>
      <p>
        <b>{isFirst ? "No runner has connected yet." : "Start another."}</b>{" "}
        <span className="muted">
          Run this where the agent is installed, with the app of its runs and its own command. <code>{"{input}"}</code>{" "}
          stands for the input of the recorded run.
        </span>
      </p>
      <RunnerStart app="my-app" />
    </div>
  );
}

function Table({ runners }: { runners: readonly RunnerView[] }): ReactElement {
  return (
    <div className={list.scroll} tabIndex={0} role="region" aria-label="Runners, scrollable">
      <table className={`${list.table} ${list.stacking} ${classes.table}`}>
        <thead>
          <tr>
            <th scope="col">Runner</th>
            <th scope="col">State</th>
            <th scope="col">Command</th>
            <th scope="col" className={list.figure}>
              Agents
            </th>
            <th scope="col" className={list.figure}>
              Last seen
            </th>
          </tr>
        </thead>
        <tbody>
          {runners.map((runner) => (
            <Row key={runner.id} runner={runner} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ runner }: { runner: RunnerView }): ReactElement {
  const isOnline = runner.state === "online";
  return (
    <tr>
      <th scope="row">
        <span className={list.name}>{runner.name}</span>
        <span className={list.sub}>
          {runner.host && `${runner.host} · `}
          <Link {...paths.runs({ app: runner.app })}>{runner.app}</Link>
        </span>
      </th>
      <td data-label="State">
        {isOnline ? <StateChip mark="exact">online</StateChip> : <span className="chip">offline</span>}
      </td>
      <td data-label="Command" className={classes.command}>
        <code>{shellWords(runner.command)}</code>
        <span className={list.sub}>{runner.network}</span>
        {runner.allowed_tools.length > 0 && (
          <span className={list.sub}>Tools that may run: {runner.allowed_tools.join(", ")}</span>
        )}
        {runner.hook_tools.length > 0 && (
          <span className={list.sub}>Tools that a hook intercepts: {runner.hook_tools.join(", ")}</span>
        )}
      </td>
      <td data-label="Agents" className={list.figure} title="Agents that run now, and how many can">
        {isOnline ? `${runner.busy} of ${runner.capacity}` : "–"}
      </td>
      <td data-label="Last seen" className={list.figure} title={fullTime(runner.last_seen_at)}>
        {isOnline ? "now" : timeAgo(runner.last_seen_at)}
      </td>
    </tr>
  );
}
