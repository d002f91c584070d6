import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { accessQuery } from "@/api/access";
import { settingsQuery } from "@/api/settings";
import { paths } from "@/app/paths";
import { EmptyState } from "@/ui/EmptyState";
import { LoadedList } from "@/ui/ListPage";
import { Page, PageHeader, PanelHead } from "@/ui/Page";
import { AccountPanel } from "./AccountPanel";
import { AppearancePanel } from "./AppearancePanel";
import { ConfigurationPanel } from "./ConfigurationPanel";
import { ProvidersPanel } from "./ProvidersPanel";
import classes from "./Settings.module.css";
import { TokensPanel } from "./TokensPanel";
import { usePageTitle } from "@/ui/brand/usePageTitle";

const ADMIN_NOTE =
  "The configuration that this server was started with. To change it, restart the server with other settings. Tokens are created and revoked here.";
type Verb = "Edit" | "Show";

/** Tokens, providers and configuration of the server. */
export function SettingsPage(): ReactElement {
  usePageTitle("Settings");
  const { data: access } = useQuery(accessQuery);
  const isAdmin = access?.role === "admin";
  return (
    <Page>
      <PageHeader
        title="Settings"
        note={
          isAdmin ? ADMIN_NOTE : "Rules of this server, and how this browser shows it. Only admins can change rules."
        }
      />
      <OutcomesLink verb={isAdmin ? "Edit" : "Show"} />
      <RedactionLink verb={isAdmin ? "Edit" : "Show"} />
      <RetentionLink verb={isAdmin ? "Edit" : "Show"} />
      <MatchingLink />
      <RunnersLink />
      <HooksLink />
      <ConnectLink />
      <AppearancePanel />
      {access && <AccountPanel access={access} />}
      {access && (isAdmin ? <AdminSettings isOpen={!access.login_required} /> : <AdminOnly />)}
    </Page>
  );
}

function AdminSettings({ isOpen }: { isOpen: boolean }): ReactElement {
  const settings = useQuery(settingsQuery);
  return (
    <>
      <TokensPanel isOpen={isOpen} />
      <LoadedList listing={settings}>
        {(data) => (
          <>
            <ProvidersPanel providers={data.providers} />
            <ConfigurationPanel settings={data} />
          </>
        )}
      </LoadedList>
    </>
  );
}

function OutcomesLink({ verb }: { verb: Verb }): ReactElement {
  return (
    <section className="panel">
      <PanelHead>
        <h2>Outcomes</h2>
        <span className="muted">What decides whether a run passed: people, scores, checks and tags.</span>
        <Link {...paths.outcomes()} className={classes.link}>
          {verb} rules
        </Link>
      </PanelHead>
    </section>
  );
}

function RedactionLink({ verb }: { verb: Verb }): ReactElement {
  return (
    <section className="panel">
      <PanelHead>
        <h2>Redaction</h2>
        <span className="muted">What is replaced before a run is stored: secrets, personal data, and fields.</span>
        <Link {...paths.redaction()} className={classes.link}>
          {verb} policies
        </Link>
      </PanelHead>
    </section>
  );
}

function RetentionLink({ verb }: { verb: Verb }): ReactElement {
  return (
    <section className="panel">
      <PanelHead>
        <h2>Retention</h2>
        <span className="muted">How long runs are kept, what a purge would delete now, and who did what.</span>
        <Link {...paths.retention()} className={classes.link}>
          {verb} retention
        </Link>
      </PanelHead>
    </section>
  );
}

function MatchingLink(): ReactElement {
  return (
    <section className="panel">
      <PanelHead>
        <h2>Matching</h2>
        <span className="muted">
          Which fields are ignored when the calls of a replay are matched with recorded ones.
        </span>
        <Link {...paths.matching()} className={classes.link}>
          Show calibrations
        </Link>
      </PanelHead>
    </section>
  );
}

function RunnersLink(): ReactElement {
  return (
    <section className="panel">
      <PanelHead>
        <h2>Runners</h2>
        <span className="muted">Where replays can start your agents, and what runs there now.</span>
        <Link {...paths.runners()} className={classes.link}>
          Show runners
        </Link>
      </PanelHead>
    </section>
  );
}

function HooksLink(): ReactElement {
  return (
    <section className="panel">
      <PanelHead>
        <h2>Hooks and telemetry</h2>
        <span className="muted">
          What may deny or change the tool calls of a replay, and where its events are sent.
        </span>
        <Link {...paths.hooks()} className={classes.link}>
          Show hooks
        </Link>
      </PanelHead>
    </section>
  );
}

function ConnectLink(): ReactElement {
  return (
    <section className="panel">
      <PanelHead>
        <h2>Connect</h2>
        <span className="muted">How your agents send their runs here.</span>
        <Link {...paths.connect()} className={classes.link}>
          Connect an agent
        </Link>
      </PanelHead>
    </section>
  );
}

function AdminOnly(): ReactElement {
  return (
    <section className="panel">
      <EmptyState title="Only admins can see tokens, model providers and the configuration">
        Ask an admin of this server, or sign in with a token that has the admin role.
      </EmptyState>
    </section>
  );
}
