import { useState, type ReactElement } from "react";
import type { ToolView } from "@/api/schema";
import { timeAgo, count, fullTime } from "@/ui/format/numbers";
import { StateChip } from "@/features/labels/StateChip";
import { useRowSelection } from "@/ui/keyboard/useRowSelection";
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
  const [openName, setOpenName] = useState<string | null>(null);
  const { selectedIndex, body } = useRowSelection("Tools", tools.length, (index) =>
    setOpenName(tools[index]?.name ?? null),
  );
  const selectedTool = tools[selectedIndex];
  const [pendingTool, setPendingTool] = useState<ToolView | null>(null);
  const decide = (tool: ToolView, safe: boolean | null) => {
    if (!isAdmin || tool.safe === safe) return;
    if (needsConfirmation(tool, safe)) setPendingTool(tool);
    else onDecide(tool.name, safe);
  };
  useShortcuts("Chosen tool", [
    { keys: "s", action: "Mark as safe: may run in a replay", run: () => selectedTool && decide(selectedTool, true) },
    { keys: "x", action: "Mark as side effect: never runs", run: () => selectedTool && decide(selectedTool, false) },
    { keys: "u", action: "Clear the decision", run: () => selectedTool && decide(selectedTool, null) },
  ]);
  const openTool = tools.find(({ name }) => name === openName);
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
              isSelected={index === selectedIndex}
              isAdmin={isAdmin}
              onDecide={(safe) => decide(tool, safe)}
              onOpen={() => setOpenName(tool.name)}
            />
          ))}
        </tbody>
      </table>
      {openTool && <ToolDialog tool={openTool} isAdmin={isAdmin} onClose={() => setOpenName(null)} />}
      {pendingTool && (
        <ConfirmSafe
          tool={pendingTool}
          onConfirm={() => onDecide(pendingTool.name, true)}
          onClose={() => setPendingTool(null)}
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
          <span title={fullTime(last.at)}>
            {last.by}
            <span className={list.sub}>
              {timeAgo(last.at)}
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
      <td data-label="Last seen" className={list.figure} title={fullTime(tool.last_seen)}>
        {timeAgo(tool.last_seen)}
      </td>
    </tr>
  );
}

const OPTIONS = [
  { safe: true, words: "Safe" },
  { safe: false, words: "Side effect" },
  { safe: null, words: "Not reviewed" },
] as const;

/** The three states of a review at fixed places. Selecting the current one does nothing. */
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
          title={isAdmin ? undefined : "Only administrators can review tools"}
          onClick={() => onDecide(safe)}
        >
          {words}
        </button>
      ))}
    </div>
  );
}
