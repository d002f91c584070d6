import { Button, CloseButton } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { IconArrowsDiff } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { calibrate } from "@/api/replays/calibrations";
import { answer, api } from "@/api/client";
import type { RunSummary } from "@/api/schema";
import { Kbd } from "@/ui/keyboard/Kbd";
import { paths } from "@/app/paths";
import { useShortcuts } from "@/ui/keyboard/shortcuts";
import classes from "./CompareBar.module.css";
import { orderPair } from "./listing";

const CALIBRATE = "Two recordings of the same task: find fields to ignore in signatures";

/** The runs selected for a comparison. Appears with the first selection. */
export function CompareBar(props: {
  runs: RunSummary[];
  selection: readonly string[];
  onClear: () => void;
}): ReactElement | null {
  const navigate = useNavigate();
  const selectedRuns = props.selection.flatMap((id) => props.runs.find((run) => run.id === id) ?? []);
  const [first, second] = selectedRuns;
  const compare = useMutation({
    mutationFn: ({ base, candidate }: { base: string; candidate: string }) =>
      answer(api.POST("/api/v1/diffs", { body: { base, candidate, options: { similarity: "auto" } } })),
    onSuccess: (report) => void navigate(paths.diff(report.id)),
    onError: (error) =>
      notifications.show({ title: "The runs could not be compared", message: error.message, color: "red" }),
  });
  const calibrating = useMutation({
    mutationFn: ({ base, candidate }: { base: string; candidate: string }) => calibrate(base, candidate),
    onSuccess: (calibration) => void navigate(paths.calibration(calibration.id)),
    onError: (error) =>
      notifications.show({ title: "The runs could not be compared", message: error.message, color: "red" }),
  });
  const pair = first && second ? orderPair(first, second) : null;
  const start = () =>
    pair && !compare.isPending && compare.mutate({ base: pair.base.id, candidate: pair.candidate.id });
  useShortcuts("Runs: compare", [{ keys: "c", action: "Compare the two chosen runs", run: () => void start() }]);

  if (!first) return null;
  return (
    <section className={`panel ${classes.bar}`} aria-label="Comparison">
      <IconArrowsDiff size={16} aria-hidden />
      <span className="ellipsis">
        <b>{pair ? pair.base.name : first.name}</b>
        {pair ? (
          <>
            <span className="muted"> compared with </span>
            <b>{pair.candidate.name}</b>
          </>
        ) : (
          <span className="muted"> Choose a second run with its checkbox or x</span>
        )}
      </span>
      <span className="grow" />
      <Button
        variant="default"
        disabled={!pair || pair.base.app !== pair.candidate.app}
        title={pair && pair.base.app !== pair.candidate.app ? "The runs belong to different apps" : CALIBRATE}
        loading={calibrating.isPending}
        onClick={() => pair && calibrating.mutate({ base: pair.base.id, candidate: pair.candidate.id })}
      >
        Calibrate
      </Button>
      <Button disabled={!pair} loading={compare.isPending} onClick={() => void start()} rightSection={<Kbd>c</Kbd>}>
        Compare
      </Button>
      <CloseButton size="sm" aria-label="Clear the selection" onClick={props.onClear} />
    </section>
  );
}
