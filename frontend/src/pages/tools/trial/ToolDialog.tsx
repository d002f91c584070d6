import type { ReactElement } from "react";
import type { ToolDecisionView, ToolView } from "@/api/schema";
import { fullTime } from "@/ui/format/numbers";
import { JsonView } from "@/ui/JsonView";
import classes from "../ToolsPage.module.css";
import { stateWords } from "../search";
import { Suggestion } from "../review/Suggestion";
import { ToolTrial } from "./ToolTrial";
import { Dialog } from "@/ui/Dialog";

interface Props {
  tool: ToolView;
  isAdmin: boolean;
  onClose: () => void;
}

/** The basis of a review: description, executor, parameters and earlier decisions. */
export function ToolDialog({ tool, isAdmin, onClose }: Props): ReactElement {
  return (
    <Dialog onClose={onClose} title={tool.name} size="lg">
      {/* Without a field of its own, so that the focus does not go to the button that closes it. */}
      <div className={classes.detail} data-autofocus tabIndex={-1}>
        <p>{tool.description || "No description was recorded."}</p>
        <h2>Suggestion</h2>
        <p>
          <Suggestion suggestion={tool.suggestion} />
        </p>
        <h2>Runs live through</h2>
        <p>{tool.executor || "Not configured: answered from recordings only."}</p>
        <h2>Parameters</h2>
        {tool.parameters === null ? (
          <p className="muted">No schema was recorded.</p>
        ) : (
          <JsonView value={tool.parameters} />
        )}
        <h2>Decisions</h2>
        {tool.history.length === 0 && <p className="muted">Not reviewed. Replays do not run it.</p>}
        <ul>
          {tool.history.map((entry) => (
            <Entry key={entry.at} entry={entry} />
          ))}
        </ul>
        {tool.executor && <h2>Test call</h2>}
        {tool.executor && !isAdmin && <p className="muted">Only admins can run test calls.</p>}
        {tool.executor && isAdmin && <ToolTrial tool={tool} />}
      </div>
    </Dialog>
  );
}

const SOURCES = { yaml: "YAML", suggestion: "accepted as suggested" } as const;

function Entry({ entry }: { entry: ToolDecisionView }): ReactElement {
  return (
    <li>
      <b>{stateWords(entry)}</b> by {entry.by}
      {entry.via !== "page" && ` (${SOURCES[entry.via]})`}, <span className="muted">{fullTime(entry.at)}</span>
    </li>
  );
}
