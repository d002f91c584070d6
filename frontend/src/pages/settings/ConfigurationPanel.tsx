import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement, ReactNode } from "react";
import { readinessQuery } from "@/api/settings";
import type { Configuration } from "@/api/schema";
import { StateChip } from "@/features/labels/StateChip";
import { paths } from "@/app/paths";
import classes from "./Settings.module.css";
import { PanelHead } from "@/ui/Page";

/** The remaining configuration, with the reachability of dependencies. */
export function ConfigurationPanel({ settings }: { settings: Configuration }): ReactElement {
  return (
    <section className="panel" aria-labelledby="configuration">
      <PanelHead>
        <h2 id="configuration">Configuration in effect</h2>
        <span className="muted">
          In a terminal: <code>forkpoint check</code>
        </span>
      </PanelHead>
      <dl className={classes.facts}>
        <Fact name="Mode">
          {settings.mode === "embedded"
            ? "a single process (embedded)"
            : "web and worker processes with shared services (distributed)"}
        </Fact>
        <Fact name="Listens on">
          {settings.host}:{settings.port}
          {settings.otlp_grpc_port === null ? "" : `, OTLP/gRPC on port ${settings.otlp_grpc_port}`}
        </Fact>
        <Fact name="Login">
          {settings.login_required
            ? "a token is required"
            : "not required: only this machine can reach the server, and every user is an admin"}
        </Fact>
        <Fact name="Share links">{settings.sharing ? "on" : "disabled: links cannot be opened or created"}</Fact>
        <Fact name="Home">
          <code>{settings.home}</code>
        </Fact>
        <Fact name="Database" check="database">
          <code>{settings.database}</code>
        </Fact>
        <Fact name="Queue" check="broker">
          {settings.redis === null ? "inside this process" : <code>{settings.redis}</code>}
        </Fact>
        <Fact name="Payloads" check="storage">
          <code>{settings.artifacts}</code>
        </Fact>
        <Fact name="Similarity">
          {settings.semantic ? "by meaning, with an embedding model" : "lexical: no embedding model is installed"}
        </Fact>
        <Fact name="Tools that can run">
          {settings.tools.map(({ name, runs }) => (
            <span key={name} className={classes.entry}>
              <b>{name}</b> <span className="muted">{runs}</span>
            </span>
          ))}
          {settings.tools.length === 0 && "none: tools are answered from recordings"}{" "}
          <Link {...paths.tools()}>Tools</Link>
        </Fact>
        <Fact name="Retrievers">
          {settings.retrievers.map(({ name, asks }) => (
            <span key={name} className={classes.entry}>
              <b>{name}</b> <span className="muted">{asks}</span>
            </span>
          ))}
          {settings.retrievers.length === 0 && "none: searches are answered from recordings"}
        </Fact>
        <Fact name="MCP servers">
          {settings.mcp_servers.map(({ name, url }) => (
            <span key={name} className={classes.entry}>
              <b>{name}</b> <span className="muted">{url}</span>
            </span>
          ))}
          {settings.mcp_servers.length === 0 && "none behind the gateway"}
        </Fact>
        <Fact name="Hooks and telemetry">
          {settings.hooks.length + settings.telemetry.length === 0
            ? "none"
            : [...settings.hooks, ...settings.telemetry].map(({ name }) => name).join(", ")}{" "}
          <Link {...paths.hooks()}>Hooks</Link>
        </Fact>
      </dl>
    </section>
  );
}

function Fact(props: { name: string; check?: "database" | "broker" | "storage"; children: ReactNode }): ReactElement {
  return (
    <>
      <dt>{props.name}</dt>
      <dd>
        {props.children} {props.check && <Reachability check={props.check} />}
      </dd>
    </>
  );
}

function Reachability({ check }: { check: string }): ReactElement | null {
  const { data } = useQuery(readinessQuery);
  const result = data?.checks[check];
  if (result === undefined) return null;
  return result === "ok" ? (
    <StateChip mark="exact">reachable</StateChip>
  ) : (
    <StateChip mark="failed">{result}</StateChip>
  );
}
