import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { paths } from "@/app/paths";
import ConnectGuide from "@/features/connect/ConnectGuide";
import { Page, PageHeader } from "@/ui/Page";
import classes from "./ConnectPage.module.css";
import { usePageTitle } from "@/ui/brand/usePageTitle";

/** How agents send their runs here. */
export function ConnectPage(): ReactElement {
  usePageTitle("Connect an agent");
  return (
    <Page>
      <div className={classes.column}>
        <PageHeader
          crumbs={[<Link {...paths.runs()}>Runs</Link>]}
          title="Connect an agent"
          note="Point your agent's tracing at this server. Runs appear here while they are recorded."
        />
        <section className={`panel ${classes.panel}`} aria-label="Connect an agent">
          <ConnectGuide />
        </section>
        <p className={`muted ${classes.files}`}>
          Traces in files: drop them on any page, or use <code>forkpoint import traces/</code>. The format is detected.
        </p>
      </div>
    </Page>
  );
}
