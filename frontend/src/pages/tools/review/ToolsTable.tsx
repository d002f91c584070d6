import { useState, type ReactElement } from "react";
import type { ToolView } from "@/api/schema";
import { ago, count, moment } from "@/ui/format/numbers";
import { StateChip } from "@/features/labels/StateChip";
import { useRows } from "@/ui/keyboard/useRowSelection";
import { useShortcuts } from "@/ui/keyboard/shortcuts";
import list from "@/ui/ListPage.module.css";
import { ConfirmSafe } from "./ConfirmSafe";
import { needsConfirmation } from "./review";
import { ToolDialog } from "../trial/ToolDialog";
import classes from "../ToolsPage.module.css";

interface Props {
  tools: readonly ToolView[];
  isAdmin: boolean;
  onDecide: (name: string, safe: boolean | null) => void;
}

export function ToolsTable({ tools, isAdmin, onDecide }: Props): ReactElement {
  const [opened, setOpened] = useState<string | null>(null);
  const { selected, body } = useRows("Tools", tools.length, (index) => setOpened(tools[index]?.name ?? null));
  const chosen = tools[selected];
  const [unconfirmed, setUnconfirmed] = useState<ToolView | null>(null);
  const decide = (tool: ToolView, safe: boolean | null) => {
    if (!isAdmin || tool.safe === safe) return;
    if (needsConfirmation(tool, safe)) setUnconfirmed(tool);
    else onDecide(tool.name, safe);
  };
  useShortcuts("Chosen tool", [
    { keys: "s", does: "Safe: may run in a replay", run: () => chosen && decide(chosen, true) },
    { keys: "x", does: "Side effect: never runs", run: () => chosen && decide(chosen, false) },
    { keys: "u", does: "Clear the decision", run: () => chosen && decide(chosen, null) },
  ]);
  const shown = tools.find(({ name }) => name === opened);
  return (
    <div className={list.scroll}>
      <table className={`${list.table} ${list.stacking} ${classes.table}`}>
        <thead>
          <tr>
            <th scope="col">Tool</th>
            <th scope="col">Suggestion</th>
            <th scope="col">Decision</th>
            <th scope="col">Decided</th>
            <th scope="col" className={list.figure}>
              Calls
            </th>
            <th scope="col" className={list.figure}>
              Last seen
            </th>
          </tr>
        </thead>
        <tbody ref={body}>
          {tools.map((tool, index) => (
            <Row
              key={tool.name}
              tool={tool}
              isSelected={index === selected}
              isAdmin={isAdmin}
              onDecide={(safe) => decide(tool, safe)}
              onOpen={() => setOpened(tool.name)}
            />
          ))}
        </tbody>
      </table>
      {shown && <ToolDialog tool={shown} isAdmin={isAdmin} onClose={() => setOpened(null)} />}
      {unconfirmed && (
        <ConfirmSafe
          tool={unconfirmed}
          onConfirm={() => onDecide(unconfirmed.name, true)}
          onClose={() => setUnconfirmed(null)}
        />
      )}
    </div>
  );
}

interface RowProps {
  tool: ToolView;
  isSelected: boolean;
  isAdmin: boolean;
  onDecide: (safe: boolean | null) => void;
  onOpen: () => void;
}

function Row(props: RowProps): ReactElement {
  const { tool } = props;
  const [last] = tool.history;
  return (
    <tr data-selected={props.isSelected}>
      <th scope="row" className={classes.tool}>
        <button type="button" className={`${list.name} ${classes.name}`} onClick={props.onOpen}>
          {tool.name}
        </button>
        <span className={list.sub}>{tool.apps.join(", ") || "never called"}</span>
        {tool.description && <span className={`${list.sub} ${classes.description}`}>{tool.description}</span>}
      </th>
      <td data-label="Suggestion">
        <StateChip mark={tool.suggestion.safe ? "exact" : "simulated"}>
          {tool.suggestion.safe ? "safe" : "side effect"}
        </StateChip>
        <span className={list.sub}>{tool.suggestion.reason}</span>
      </td>
      <td data-label="Decision">
        <Decision tool={tool} isAdmin={props.isAdmin} onDecide={props.onDecide} />
      </td>
      <td data-label="Decided">
        {last ? (
          <span title={moment(last.at)}>
            {last.by}
            <span className={list.sub}>
              {ago(last.at)}
              {last.via === "yaml" && " by YAML"}
            </span>
          </span>
        ) : (
          <span className="muted">
            –{/* as high as a decision, so that the rows below keep their place */}
            <span className={list.sub}>&nbsp;</span>
          </span>
        )}
      </td>
      <td data-label="Calls" className={list.figure}>
        {count(tool.calls)}
      </td>
      <td data-label="Last seen" className={list.figure} title={moment(tool.last_seen)}>
        {ago(tool.last_seen)}
      </td>
    </tr>
  );
}

const OPTIONS = [
  { safe: true, words: "Safe" },
  { safe: false, words: "Side effect" },
  { safe: null, words: "Not reviewed" },
] as const;

/** One of three, each at a fixed place; pressing what holds already does nothing. */
function Decision({ tool, isAdmin, onDecide }: Pick<RowProps, "tool" | "isAdmin" | "onDecide">): ReactElement {
  return (
    <div className={classes.decision} role="group" aria-label={`Decision about ${tool.name}`}>
      {OPTIONS.map(({ safe, words }) => (
        <button
          key={words}
          type="button"
          aria-pressed={tool.safe === safe}
          aria-disabled={!isAdmin}
          className={classes.option}
          data-safe={safe ?? "unknown"}
          title={isAdmin ? undefined : "Only an administrator decides about tools"}
          onClick={() => onDecide(safe)}
        >
          {words}
        </button>
      ))}
    </div>
  );
}
