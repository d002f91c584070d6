import { Checkbox } from "@mantine/core";
import { useState, type ReactElement } from "react";
import type { ToolView } from "@/api/schema";
import { timeAgo, count, fullTime } from "@/ui/format/numbers";
import { useRowSelection } from "@/ui/keyboard/useRowSelection";
import { useShortcuts } from "@/ui/keyboard/shortcuts";
import list from "@/ui/ListPage.module.css";
import { DecisionControl } from "./DecisionControl";
import { Suggestion } from "./Suggestion";
import { ToolDialog } from "../trial/ToolDialog";
import page from "../ToolsPage.module.css";
import classes from "./Review.module.css";

interface Props {
  tools: readonly ToolView[];
  selectedNames: ReadonlySet<string>;
  isAdmin: boolean;
  onSelect: (names: ReadonlySet<string>) => void;
  onDecide: (tool: ToolView, safe: boolean | null) => void;
}

export function ToolsTable({ tools, selectedNames, isAdmin, onSelect, onDecide }: Props): ReactElement {
  const [openName, setOpenName] = useState<string | null>(null);
  const { selectedIndex, body } = useRowSelection("Tools", tools.length, (index) =>
    setOpenName(tools[index]?.name ?? null),
  );
  const currentTool = tools[selectedIndex];
  useShortcuts("Chosen tool", [
    { keys: "s", action: "Mark as safe: may run in a replay", run: () => currentTool && onDecide(currentTool, true) },
    { keys: "x", action: "Mark as side effect: never runs", run: () => currentTool && onDecide(currentTool, false) },
    { keys: "u", action: "Clear the decision", run: () => currentTool && onDecide(currentTool, null) },
  ]);
  const openTool = tools.find(({ name }) => name === openName);
  const select = (names: readonly string[], isSelected: boolean) =>
    onSelect(
      isSelected
        ? new Set([...selectedNames, ...names])
        : new Set([...selectedNames].filter((name) => !names.includes(name))),
    );
  const selectedCount = tools.filter(({ name }) => selectedNames.has(name)).length;
  return (
    <div className={list.scroll}>
      <table className={`${list.table} ${list.stacking} ${classes.table}`}>
        <thead>
          <tr>
            <th scope="col">
              <span className={classes.selectAll}>
                <Checkbox
                  aria-label="Select all tools"
                  checked={selectedCount === tools.length}
                  indeterminate={selectedCount > 0 && selectedCount < tools.length}
                  disabled={!isAdmin}
                  onChange={(event) =>
                    select(
                      tools.map(({ name }) => name),
                      event.currentTarget.checked,
                    )
                  }
                />
                Tool
              </span>
            </th>
            <th scope="col">Suggestion</th>
            <th scope="col">Decision</th>
            <th scope="col" className={classes.decided}>
              Decided
            </th>
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
              isCurrent={index === selectedIndex}
              isSelected={selectedNames.has(tool.name)}
              isAdmin={isAdmin}
              onSelect={(isSelected) => select([tool.name], isSelected)}
              onDecide={(safe) => onDecide(tool, safe)}
              onOpen={() => setOpenName(tool.name)}
            />
          ))}
        </tbody>
      </table>
      {openTool && <ToolDialog tool={openTool} isAdmin={isAdmin} onClose={() => setOpenName(null)} />}
    </div>
  );
}

interface RowProps {
  tool: ToolView;
  /** `j` and `k` moved to this row. */
  isCurrent: boolean;
  isSelected: boolean;
  isAdmin: boolean;
  onSelect: (isSelected: boolean) => void;
  onDecide: (safe: boolean | null) => void;
  onOpen: () => void;
}

function Row(props: RowProps): ReactElement {
  const { tool } = props;
  const [last] = tool.history;
  return (
    <tr data-selected={props.isCurrent || props.isSelected}>
      <th scope="row">
        <div className={classes.tool}>
          <Checkbox
            aria-label={`Select ${tool.name}`}
            checked={props.isSelected}
            disabled={!props.isAdmin}
            onChange={(event) => props.onSelect(event.currentTarget.checked)}
          />
          <div>
            <button type="button" className={`${list.name} ${page.name}`} onClick={props.onOpen}>
              {tool.name}
            </button>
            <span className={list.sub}>{tool.apps.join(", ") || "never called"}</span>
            {tool.description && <span className={`${list.sub} ${classes.description}`}>{tool.description}</span>}
          </div>
        </div>
      </th>
      <td data-label="Suggestion" className={`${classes.wide} ${classes.suggestion}`}>
        <Suggestion suggestion={tool.suggestion} />
      </td>
      <td data-label="Decision" className={classes.wide}>
        <DecisionControl
          name={`Decision about ${tool.name}`}
          safe={tool.safe}
          isAdmin={props.isAdmin}
          onDecide={props.onDecide}
        />
      </td>
      <td data-label="Decided" className={classes.decided}>
        {last ? (
          <span title={fullTime(last.at)}>
            {last.by}
            <span className={list.sub}>
              {timeAgo(last.at)}
              {last.via === "yaml" && " by YAML"}
              {last.via === "suggestion" && " as suggested"}
            </span>
          </span>
        ) : (
          <span className="muted">
            –{/* as high as a decision, so that the rows below keep their place */}
            <span className={`${list.sub} ${classes.spacer}`}>&nbsp;</span>
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
