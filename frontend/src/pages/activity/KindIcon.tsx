import {
  IconAdjustments,
  IconArrowsDiff,
  IconFlask,
  IconGitFork,
  IconRosetteDiscountCheck,
  IconStethoscope,
  type Icon,
} from "@tabler/icons-react";
import type { ReactElement } from "react";
import classes from "./ActivityPage.module.css";
import type { Kind } from "./search";

const SHAPES: Record<Kind, { shape: Icon; word: string }> = {
  replay: { shape: IconGitFork, word: "Replay" },
  diff: { shape: IconArrowsDiff, word: "Diff" },
  proof: { shape: IconRosetteDiscountCheck, word: "Proof" },
  experiment: { shape: IconFlask, word: "Experiment" },
  bisection: { shape: IconStethoscope, word: "Bisection" },
  calibration: { shape: IconAdjustments, word: "Calibration" },
};

export function KindIcon({ kind }: { kind: Kind }): ReactElement {
  const { shape: Shape, word } = SHAPES[kind];
  return (
    <span className={classes.icon}>
      <Shape size={16} stroke={1.6} aria-hidden />
      {word}
    </span>
  );
}
