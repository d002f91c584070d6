import type { ReactElement } from "react";
import type { ProviderSetting } from "@/api/schema";
import list from "@/ui/ListPage.module.css";
import classes from "./Settings.module.css";
import { PanelHead } from "@/ui/Page";

/** Models that replays can call. Keys stay in the server's environment. */
export function ProvidersPanel({ providers }: { providers: readonly ProviderSetting[] }): ReactElement {
  return (
    <section className="panel" aria-labelledby="providers">
      <PanelHead>
        <h2 id="providers">Model providers</h2>
        <span className="muted">Keys are read from the server’s environment; they are never shown or stored.</span>
      </PanelHead>
      {providers.length === 0 ? (
        <p className={classes.none}>
          No provider is configured, so replays cannot call models. Set <code>OPENAI_API_KEY</code>,{" "}
          <code>ANTHROPIC_API_KEY</code> or <code>GEMINI_API_KEY</code>, or list others in{" "}
          <code>FORKPOINT_PROVIDERS</code>.
        </p>
      ) : (
        <table className={`${list.table} ${list.stacking}`}>
          <thead>
            <tr>
              <th scope="col">Provider</th>
              <th scope="col">Protocol</th>
              <th scope="col">Address</th>
              <th scope="col">Key</th>
            </tr>
          </thead>
          <tbody>
            {providers.map((provider) => (
              <tr key={provider.name}>
                <th scope="row">
                  <span className={list.name}>{provider.name}</span>
                </th>
                <td data-label="Protocol">{provider.protocol}</td>
                <td data-label="Address">
                  <code>{provider.base_url}</code>
                </td>
                <td data-label="Key">{provider.key}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
