import { Button } from "@mantine/core";
import { IconArrowDown } from "@tabler/icons-react";
import type { ReactElement } from "react";
import type { StepSummary } from "@/api/schema";
import { useSelectedNumber } from "../selection";
import classes from "./Steps.module.css";

interface Props {
  steps: readonly StepSummary[];
  onSelect: (sequenceNo: number) => void;
}

/** Goes to the newest step of a run that is being recorded, whose growing list moves nothing by itself. */
export function LatestStep({ steps, onSelect }: Props): ReactElement | null {
  const selectedNumber = useSelectedNumber();
  const latest = steps.at(-1)?.sequence_no;
  if (latest === undefined || latest === selectedNumber) return null;
  return (
    <Button
      className={classes.latest}
      variant="default"
      leftSection={<IconArrowDown size={14} />}
      onClick={() => onSelect(latest)}
    >
      Latest step: {latest}
    </Button>
  );
}
