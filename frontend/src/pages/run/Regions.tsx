import { Button, SegmentedControl, Splitter } from "@mantine/core";
import { readLocalStorageValue, useLocalStorage, type SplitterPaneSize } from "@mantine/hooks";
import { IconGitFork } from "@tabler/icons-react";
import { useState, type ReactElement, type ReactNode } from "react";
import { useShortcuts } from "@/ui/keyboard/shortcuts";
import classes from "./RunPage.module.css";

export type RegionName = "steps" | "step" | "fork";

interface Props {
  phone: boolean;
  region: RegionName;
  onRegion: (region: RegionName) => void;
  steps: ReactNode;
  /** Whether the steps need most of the width. */
  isWide: boolean;
  step: ReactNode;
  /** Small screens show the step in a tab of its own. */
  isStepShown: boolean;
  /** `null` while no fork is open. */
  fork?: ReactNode;
  /** A run that is still being recorded cannot be forked. */
  isRecording?: boolean;
  /** Without it, the run is only shown. */
  onOpenFork?: () => void;
}
type Layout = "1" | "2" | "3" | "wide-2" | "wide-3" | "fork" | "wide-fork";
const defaultSizes: Record<Layout, [number, ...number[]]> = {
  "1": [100],
  "2": [36, 64],
  "3": [28, 36, 36],
  "wide-2": [60, 40],
  "wide-3": [40, 28, 32],
  fork: [50, 50],
  "wide-fork": [58, 42],
};
const storageKey = (layout: Layout): string => `run-regions-${layout}`;

/** Up to three resizable regions side by side with remembered sizes. Tabs on small screens. */
export function Regions(props: Props): ReactElement {
  return props.phone ? <TabbedRegions {...props} /> : <Side {...props} />;
}

function layoutOf({ isWide, isStepShown, fork = null }: Props): Layout {
  if (!isStepShown) return fork === null ? "1" : isWide ? "wide-fork" : "fork";
  const columns = fork === null ? "2" : "3";
  return isWide ? `wide-${columns}` : columns;
}

function Side(props: Props): ReactElement {
  const { steps, step, isStepShown, fork = null } = props;
  const layout = layoutOf(props);
  // Each layout stores its own sizes, so that opening or closing a region does not resize the others.
  const [sizesByLayout, setSizesByLayout] = useState<Partial<Record<Layout, SplitterPaneSize[]>>>({});
  const sizes =
    sizesByLayout[layout] ??
    readLocalStorageValue<SplitterPaneSize[]>({ key: storageKey(layout), defaultValue: defaultSizes[layout] });
  const setSizes = (next: SplitterPaneSize[]) => setSizesByLayout((current) => ({ ...current, [layout]: next }));
  const [, remember] = useLocalStorage<SplitterPaneSize[]>({
    key: storageKey(layout),
    defaultValue: defaultSizes[layout],
  });
  const nudge = (percent: number) => {
    const [first, second, ...rest] = sizes.map(Number);
    if (first === undefined || second === undefined) return;
    const width = Math.max(20, Math.min(70, first + percent));
    const next = [width, second - (width - first), ...rest];
    setSizes(next);
    remember(next);
  };
  useShortcuts("Run", [
    { keys: "[", action: "Narrower list of steps", run: () => nudge(-4) },
    { keys: "]", action: "Wider list of steps", run: () => nudge(4) },
  ]);
  const [first, ...rest] = defaultSizes[layout];
  return (
    <Splitter
      className={classes.regions}
      sizes={sizes}
      onSizeChange={setSizes}
      onResizeEnd={(_, next) => remember(next)}
      lineSize={12}
      handleColor="transparent"
      withHandle={false}
    >
      <Splitter.Pane defaultSize={first} min={18} className="panel">
        {steps}
      </Splitter.Pane>
      {isStepShown && (
        <Splitter.Pane defaultSize={rest[0] ?? 40} min={22} className="panel">
          {step}
        </Splitter.Pane>
      )}
      {fork !== null && (
        <Splitter.Pane defaultSize={rest.at(-1) ?? 36} min={20} className="panel">
          {fork}
        </Splitter.Pane>
      )}
    </Splitter>
  );
}

function TabbedRegions(props: Props): ReactElement {
  const { region, onRegion, steps, step, fork = null, isRecording = false, onOpenFork } = props;
  const visible = region === "fork" && fork === null ? "step" : region;
  return (
    <>
      <SegmentedControl
        fullWidth
        size="sm"
        value={visible}
        onChange={(value) => (value === "fork" && fork === null ? onOpenFork?.() : onRegion(value))}
        aria-label="Region"
        data={[
          { value: "steps" as const, label: "Steps" },
          { value: "step" as const, label: "Step" },
          ...(onOpenFork ? [{ value: "fork" as const, label: "Fork", disabled: isRecording }] : []),
        ]}
      />
      {/* The list stays mounted, so that folds, filters and the scroll position survive. */}
      <div className={`panel ${classes.single}`} hidden={visible !== "steps"}>
        {steps}
      </div>
      {visible !== "steps" && <div className={`panel ${classes.single}`}>{visible === "step" ? step : fork}</div>}
      {visible === "step" && onOpenFork && (
        <Button
          leftSection={<IconGitFork size={15} />}
          disabled={isRecording}
          onClick={onOpenFork}
          className={classes.forkButton}
        >
          {isRecording ? "Still recording: no fork yet" : "Fork from this step"}
        </Button>
      )}
    </>
  );
}
