import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { hooksQuery } from "@/api/tools/hooks";
import type { HookView, TelemetryView } from "@/api/schema";
import { paths } from "@/app/paths";
import { timeAgo, count, fullTime } from "@/ui/format/numbers";
import { LoadedList } from "@/ui/ListPage";
import { Page, PageHeader, PanelHead } from "@/ui/Page";
import { StateChip } from "@/features/labels/StateChip";
import list from "@/ui/ListPage.module.css";
import classes from "./HooksPage.module.css";
import { usePageTitle } from "@/ui/brand/usePageTitle";

/** Configured hooks and telemetry targets, with delivery statistics. */
export function HooksPage(): ReactElement {
  usePageTitle("Hooks and telemetry");
  const listing = useQuery(hooksQuery);
  return (
    <Page>
      <PageHeader
        crumbs={[<Link {...paths.settings()}>Settings</Link>]}
        title="Hooks and telemetry"
        note="Hooks can deny or change tool calls of a replay, add messages for its model, or stop it. Telemetry sends events to other systems. Both are configured at server start."
      />
      <LoadedList listing={listing}>
        {({ hooks, targets }) => (
          <>
            <section className="panel" aria-labelledby="hooks">
              <PanelHead>
                <h2 id="hooks">Hooks</h2>
              </PanelHead>
              {hooks.length > 0 ? <Hooks hooks={hooks} /> : <None variable="FORKPOINT_HOOKS" example={HOOK} />}
            </section>
            <section className="panel" aria-labelledby="telemetry">
              <PanelHead>
                <h2 id="telemetry">Telemetry</h2>
              </PanelHead>
              {targets.length > 0 ? (
                <Targets targets={targets} />
              ) : (
                <None variable="FORKPOINT_TELEMETRY" example={TARGET} />
              )}
            </section>
          </>
        )}
      </LoadedList>
    </Page>
  );
}

const HOOK = `{"no-deletes": {"events": ["pre_tool_use"], "matcher": "delete|drop",
  "answer": {"action": "deny", "message": "not in a replay"}}}`;
const TARGET = `{"file": {"jsonl": "/var/log/forkpoint/{session_id}.jsonl"}}`;

function None({ variable, example }: { variable: string; example: string }): ReactElement {
  return (
    <div className={classes.none}>
      None configured. Set <code>{variable}</code> to a JSON object of named entries, for example:
      <pre tabIndex={0}>{example}</pre>
    </div>
  );
}

function Hooks({ hooks }: { hooks: readonly HookView[] }): ReactElement {
  return (
    <div className={list.scroll} tabIndex={0} role="region" aria-label="Configured hooks">
      <table className={list.table}>
        <thead>
          <tr>
            <th scope="col">Hook</th>
            <th scope="col">Events</th>
            <th scope="col">Tools</th>
            <th scope="col">On failure</th>
          </tr>
        </thead>
        <tbody>
          {hooks.map((hook) => (
            <tr key={hook.name}>
              <th scope="row">
                <span className={list.name}>{hook.name}</span>
                <span className={list.sub}>{hook.place}</span>
                {hook.problem && <span className={classes.problem}>{hook.problem}</span>}
              </th>
              <td className={classes.events}>
                {hook.events.map((event) => event.replaceAll("_", " ")).join(", ") || "all"}
              </td>
              <td>{hook.matcher ? <code>{hook.matcher}</code> : <span className="muted">all</span>}</td>
              <td>
                {hook.gate ? (
                  <StateChip mark="failed">deny the call</StateChip>
                ) : (
                  <span className="muted">skip the hook</span>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Targets({ targets }: { targets: readonly TelemetryView[] }): ReactElement {
  return (
    <div className={list.scroll} tabIndex={0} role="region" aria-label="Telemetry targets">
      <table className={list.table}>
        <thead>
          <tr>
            <th scope="col">Target</th>
            <th scope="col" className={list.figure}>
              Sent
            </th>
            <th scope="col" className={list.figure}>
              Dropped
            </th>
            <th scope="col" className={list.figure}>
              Last sent
            </th>
            <th scope="col">Last error</th>
          </tr>
        </thead>
        <tbody>
          {targets.map((target) => (
            <tr key={target.name}>
              <th scope="row">
                <span className={list.name}>{target.name}</span>
                <span className={list.sub}>{target.place}</span>
                {target.events.length > 0 && <span className={list.sub}>only {target.events.join(", ")}</span>}
                {target.problem && <span className={classes.problem}>{target.problem}</span>}
              </th>
              <td className={list.figure}>{count(target.sent)}</td>
              <td className={`${list.figure} ${target.dropped > 0 ? "failed" : ""}`}>{count(target.dropped)}</td>
              <td className={list.figure} title={fullTime(target.sent_at)}>
                {target.sent_at ? timeAgo(target.sent_at) : "never"}
              </td>
              <td className={list.wide}>
                {target.error ? (
                  <span title={fullTime(target.error_at)}>
                    {target.error} <span className="muted">{timeAgo(target.error_at)}</span>
                  </span>
                ) : (
                  "none"
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
