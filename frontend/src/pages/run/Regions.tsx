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
  step: ReactNode;
  /** `null` while no fork is open. */
  fork: ReactNode;
  /** A run that is still being recorded cannot be forked. */
  isRecording: boolean;
  onOpenFork: () => void;
}
type Layout = "two" | "three";
const defaultSizes: Record<Layout, SplitterPaneSize[]> = { two: [36, 64], three: [28, 36, 36] };
const storage: Record<Layout, string> = { two: "run-regions-2", three: "run-regions-3" };

/** Three resizable regions side by side with remembered sizes. Tabs on small screens. */
export function Regions(props: Props): ReactElement {
  return props.phone ? <TabbedRegions {...props} /> : <Side {...props} />;
}

const storedSizes = (layout: Layout): SplitterPaneSize[] =>
  readLocalStorageValue({ key: storage[layout], defaultValue: defaultSizes[layout] });

function Side({ steps, step, fork }: Props): ReactElement {
  const layout = fork === null ? "two" : "three";
  // Each layout stores its own sizes, so that opening or closing a region does not resize the others.
  const [sizesByLayout, setSizesByLayout] = useState(() => ({ two: storedSizes("two"), three: storedSizes("three") }));
  const sizes = sizesByLayout[layout];
  const setSizes = (next: SplitterPaneSize[]) => setSizesByLayout((current) => ({ ...current, [layout]: next }));
  const [, remember] = useLocalStorage<SplitterPaneSize[]>({
    key: storage[layout],
    defaultValue: defaultSizes[layout],
  });
  const nudge = (percent: number) => {
    const [first, second, ...rest] = sizes.map(Number);
    if (first === undefined || second === undefined) return;
    const width = Math.max(20, Math.min(60, first + percent));
    const next = [width, second - (width - first), ...rest];
    setSizes(next);
    remember(next);
  };
  useShortcuts("Run", [
    { keys: "[", action: "Narrower list of steps", run: () => nudge(-4) },
    { keys: "]", action: "Wider list of steps", run: () => nudge(4) },
  ]);
  const [first, second, third] = defaultSizes[layout];
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
      <Splitter.Pane defaultSize={first ?? 30} min={18} className="panel">
        {steps}
      </Splitter.Pane>
      <Splitter.Pane defaultSize={second ?? 40} min={22} className="panel">
        {step}
      </Splitter.Pane>
      {fork !== null && (
        <Splitter.Pane defaultSize={third ?? 28} min={20} className="panel">
          {fork}
        </Splitter.Pane>
      )}
    </Splitter>
  );
}

function TabbedRegions({ region, onRegion, steps, step, fork, isRecording, onOpenFork }: Props): ReactElement {
  const visible = region === "fork" && fork === null ? "step" : region;
  return (
    <>
      <SegmentedControl
        fullWidth
        size="sm"
        value={visible}
        onChange={(value) => (value === "fork" && fork === null ? onOpenFork() : onRegion(value))}
        aria-label="Region"
        data={[
          { value: "steps" as const, label: "Steps" },
          { value: "step" as const, label: "Step" },
          { value: "fork" as const, label: "Fork", disabled: isRecording },
        ]}
      />
      {/* The list stays mounted, so that folds, filters and the scroll position survive. */}
      <div className={`panel ${classes.single}`} hidden={visible !== "steps"}>
        {steps}
      </div>
      {visible !== "steps" && <div className={`panel ${classes.single}`}>{visible === "step" ? step : fork}</div>}
      {visible === "step" && (
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
