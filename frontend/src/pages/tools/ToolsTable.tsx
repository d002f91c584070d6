import { useState, type ReactElement } from "react";
import type { ToolView } from "@/api/schema";
import { ago, count, moment } from "@/components/format";
import { StateChip } from "@/components/StateChip";
import { useRows } from "@/components/useRows";
import { useShortcuts } from "@/shell/keyboard";
import list from "@/components/ListPage.module.css";
import { ToolDialog } from "./ToolDialog";
import classes from "./ToolsPage.module.css";

interface Props {
  tools: readonly ToolView[];
  isAdmin: boolean;
  onDecide: (name: string, safe: boolean | null) => void;
}

export function ToolsTable({ tools, isAdmin, onDecide }: Props): ReactElement {
  const [opened, setOpened] = useState<string | null>(null);
  const { selected, body } = useRows("Tools", tools.length, (index) => setOpened(tools[index]?.name ?? null));
  const chosen = tools[selected];
  const decide = (safe: boolean | null) => chosen && isAdmin && onDecide(chosen.name, safe);
  useShortcuts("Chosen tool", [
    { keys: "s", does: "Safe: may run in a replay", run: () => decide(true) },
    { keys: "x", does: "Side effect: never runs", run: () => decide(false) },
    { keys: "u", does: "Take the review back", run: () => decide(null) },
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
              onDecide={onDecide}
              onOpen={() => setOpened(tool.name)}
            />
          ))}
        </tbody>
      </table>
      {shown && <ToolDialog tool={shown} isAdmin={isAdmin} onClose={() => setOpened(null)} />}
    </div>
  );
}

function Row(props: Omit<Props, "tools"> & { tool: ToolView; isSelected: boolean; onOpen: () => void }): ReactElement {
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
          <span className="muted">–</span>
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

/** Two buttons, of which one at most is pressed; pressing that one again takes the review back. */
function Decision({ tool, isAdmin, onDecide }: Omit<Props, "tools"> & { tool: ToolView }): ReactElement {
  const option = (safe: boolean, words: string) => (
    <button
      type="button"
      aria-pressed={tool.safe === safe}
      aria-disabled={!isAdmin}
      className={classes.option}
      data-safe={safe}
      title={isAdmin ? undefined : "Only an administrator decides about tools"}
      onClick={() => isAdmin && onDecide(tool.name, tool.safe === safe ? null : safe)}
    >
      {words}
    </button>
  );
  return (
    <div className={classes.decision} role="group" aria-label={`Decision about ${tool.name}`}>
      {option(true, "Safe")}
      {option(false, "Side effect")}
      {tool.safe === null && <span className={`muted ${classes.waiting}`}>not reviewed</span>}
    </div>
  );
}
