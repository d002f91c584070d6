import { Button, SegmentedControl, Splitter } from "@mantine/core";
import { readLocalStorageValue, useLocalStorage, type SplitterPaneSize } from "@mantine/hooks";
import { IconGitFork } from "@tabler/icons-react";
import { useState, type ReactElement, type ReactNode } from "react";
import { useShortcuts } from "@/shell/keyboard";
import classes from "./RunPage.module.css";

export type RegionName = "steps" | "step" | "fork";

interface Props {
  phone: boolean;
  region: RegionName;
  onRegion: (region: RegionName) => void;
  steps: ReactNode;
  step: ReactNode;
  /** `null` while no fork is being prepared. */
  fork: ReactNode;
  onOpenFork: () => void;
}
const two: SplitterPaneSize[] = [36, 64];
const three: SplitterPaneSize[] = [31, 41, 28];

/** Three regions side by side, resizable and remembered; tabs where there is no room. */
export function Regions(props: Props): ReactElement {
  return props.phone ? <Tabbed {...props} /> : <Side {...props} key={props.fork === null ? "two" : "three"} />;
}

function Side({ steps, step, fork }: Props): ReactElement {
  const key = fork === null ? "run-regions-2" : "run-regions-3";
  const usual = fork === null ? two : three;
  const [sizes, setSizes] = useState(() => readLocalStorageValue<SplitterPaneSize[]>({ key, defaultValue: usual }));
  const [, remember] = useLocalStorage<SplitterPaneSize[]>({ key, defaultValue: usual });
  const nudge = (by: number) => {
    const [first, second, ...rest] = sizes.map(Number);
    if (first === undefined || second === undefined) return;
    const width = Math.max(20, Math.min(60, first + by));
    const next = [width, second - (width - first), ...rest];
    setSizes(next);
    remember(next);
  };
  useShortcuts("Regions", [
    { keys: "[", does: "Narrower list of steps", run: () => nudge(-4) },
    { keys: "]", does: "Wider list of steps", run: () => nudge(4) },
  ]);
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
      <Splitter.Pane defaultSize={usual[0] ?? 30} min={18} className="panel">
        {steps}
      </Splitter.Pane>
      <Splitter.Pane defaultSize={usual[1] ?? 40} min={22} className="panel">
        {step}
      </Splitter.Pane>
      {fork !== null && (
        <Splitter.Pane defaultSize={usual[2] ?? 28} min={20} className="panel">
          {fork}
        </Splitter.Pane>
      )}
    </Splitter>
  );
}

function Tabbed({ region, onRegion, steps, step, fork, onOpenFork }: Props): ReactElement {
  const shown = region === "fork" && fork === null ? "step" : region;
  return (
    <>
      <SegmentedControl
        fullWidth
        size="sm"
        value={shown}
        onChange={(value) => (value === "fork" && fork === null ? onOpenFork() : onRegion(value))}
        aria-label="Region"
        data={[
          { value: "steps" as const, label: "Steps" },
          { value: "step" as const, label: "Step" },
          { value: "fork" as const, label: "Fork" },
        ]}
      />
      <div className={`panel ${classes.single}`}>{shown === "steps" ? steps : shown === "step" ? step : fork}</div>
      {shown === "step" && (
        <Button leftSection={<IconGitFork size={15} />} onClick={onOpenFork} className={classes.forkButton}>
          Fork from this step
        </Button>
      )}
    </>
  );
}
