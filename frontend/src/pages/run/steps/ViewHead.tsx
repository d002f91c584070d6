import { ActionIcon, Loader, Tabs, Tooltip } from "@mantine/core";
import {
  IconArrowsMaximize,
  IconArrowsMinimize,
  IconBug,
  IconGitFork,
  IconLayoutSidebarRightCollapse,
  IconLayoutSidebarRightExpand,
  IconMarkdown,
  IconMarkdownOff,
  IconSearch,
} from "@tabler/icons-react";
import type { ReactElement, ReactNode } from "react";
import { count } from "@/ui/format/numbers";
import { useRawText } from "@/features/markdown/MarkdownText";
import type { StepPanelState } from "../useStepPanel";
import { RUN_VIEWS, type RunView } from "../views";
import classes from "./Steps.module.css";

const TITLES: Record<RunView, string> = {
  transcript: "Transcript",
  tree: "Tree",
  timeline: "Timeline",
  graph: "Graph",
};

interface Props {
  view: RunView;
  /** Matches of a filter and steps of the run; none without a filter. */
  counts: readonly number[];
  /** Why the figures may still grow, for a spinner. */
  progress: string | null;
  errors: number;
  hasFork: boolean;
  hasFolds: boolean;
  isFiltering: boolean;
  /** The menu of types, labels and statuses. */
  filterMenu: ReactNode;
  stepPanel: StepPanelState;
  onNextError: () => void;
  onFork: () => void;
  onFold: () => void;
  onFilter: () => void;
}

/** The views of a run as tabs, and what one can do in all of them. */
export function ViewHead(props: Props): ReactElement {
  const { view, errors, stepPanel } = props;
  return (
    <div className={classes.head}>
      <Tabs.List className={classes.tabs} aria-label="View">
        {RUN_VIEWS.map((name) => (
          <Tabs.Tab key={name} value={name}>
            {TITLES[name]}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      <span className={classes.tools}>
        <span className={`muted num ${classes.count}`}>{props.counts.map(count).join(" of ")}</span>
        {props.progress && <Loader size={11} role="img" aria-label={props.progress} />}
        <Tool label="Filter the steps ( / )" isPressed={props.isFiltering} onClick={props.onFilter}>
          <IconSearch size={16} />
        </Tool>
        {props.filterMenu}
        <Tool label={errorWords(errors)} isDisabled={errors === 0} onClick={props.onNextError}>
          <IconBug size={16} />
        </Tool>
        {props.hasFork && (
          <Tool label="Go to the fork ( g )" onClick={props.onFork}>
            <IconGitFork size={16} />
          </Tool>
        )}
        {view === "transcript" ? <RawSwitch /> : <FoldSwitch hasFolds={props.hasFolds} onFold={props.onFold} />}
        <span className={classes.deskOnly}>
          <Tool label={stepPanel.isShown ? "Hide the step panel" : "Show the step panel"} onClick={stepPanel.toggle}>
            {stepPanel.isShown ? (
              <IconLayoutSidebarRightCollapse size={16} />
            ) : (
              <IconLayoutSidebarRightExpand size={16} />
            )}
          </Tool>
        </span>
      </span>
    </div>
  );
}

function FoldSwitch({ hasFolds, onFold }: { hasFolds: boolean; onFold: () => void }): ReactElement {
  return (
    <Tool label={hasFolds ? "Unfold all" : "Fold all"} onClick={onFold}>
      {hasFolds ? <IconArrowsMaximize size={15} /> : <IconArrowsMinimize size={15} />}
    </Tool>
  );
}

function RawSwitch(): ReactElement {
  const [isRaw, setRaw] = useRawText();
  return (
    <Tool label={isRaw ? "Format Markdown" : "Show raw text"} onClick={() => setRaw(!isRaw)}>
      {isRaw ? <IconMarkdown size={17} /> : <IconMarkdownOff size={17} />}
    </Tool>
  );
}

function Tool(props: {
  label: string;
  isDisabled?: boolean;
  isPressed?: boolean;
  onClick: () => void;
  children: ReactElement;
}): ReactElement {
  return (
    <Tooltip label={props.label}>
      <ActionIcon
        size={26}
        aria-label={props.label.replace(/ \( . \)$/, "")}
        aria-pressed={props.isPressed}
        data-disabled={props.isDisabled || undefined}
        aria-disabled={props.isDisabled}
        onClick={() => !props.isDisabled && props.onClick()}
      >
        {props.children}
      </ActionIcon>
    </Tooltip>
  );
}

function errorWords(errors: number): string {
  if (errors === 0) return "No step failed";
  return errors === 1 ? "Go to the error ( e )" : `Next of ${count(errors)} errors ( e )`;
}
