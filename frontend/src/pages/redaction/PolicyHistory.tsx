import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { redactionHistoryQuery } from "@/api/redaction";
import type { RedactionPolicyView } from "@/api/schema";
import { fullTime, pluralize, timeAgo } from "@/ui/format/numbers";
import classes from "./Redaction.module.css";
import { PanelHead } from "@/ui/Page";

/** The versions of a policy: who stored each one, and when. */
export function PolicyHistory({ app }: { app: string }): ReactElement | null {
  const { data } = useQuery(redactionHistoryQuery(app));
  if (!data || data.versions.length === 0) return null;
  return (
    <section className="panel" aria-labelledby="history">
      <PanelHead>
        <h2 id="history">Versions</h2>
      </PanelHead>
      <ol className={classes.versions}>
        {data.versions.map((version) => (
          <li key={version.version} title={fullTime(version.at)}>
            Version {version.version}: {describe(version)}; by {version.by}, {timeAgo(version.at)}
          </li>
        ))}
      </ol>
    </section>
  );
}

function describe(version: RedactionPolicyView): string {
  const secrets = version.secrets === null ? "secrets by default" : version.secrets ? "secrets on" : "secrets off";
  const personal = version.personal_data?.length ? `, personal data: ${version.personal_data.join(", ")}` : "";
  return `${secrets}${personal}, ${pluralize(version.rules.length, "field rule")}`;
}
