import {
  IconBook2,
  IconBrain,
  IconChecks,
  IconFileText,
  IconListSearch,
  IconMessage,
  IconRobot,
  IconRoute,
  IconShieldCheck,
  IconTool,
  type Icon,
} from "@tabler/icons-react";
import type { ReactElement } from "react";
import type { StepType } from "@/api/schema";

const icons: Record<StepType, Icon> = {
  prompt: IconFileText,
  retrieval: IconListSearch,
  tool: IconTool,
  model: IconBrain,
  agent: IconRobot,
  turn: IconMessage,
  planner: IconRoute,
  validator: IconChecks,
  safety: IconShieldCheck,
  output: IconBook2,
};

/** The icon of a step's type; its word stands beside it or in the row's name. */
export function StepIcon({ type, size = 14 }: { type: StepType; size?: number }): ReactElement {
  const Shape = icons[type];
  return <Shape size={size} stroke={1.7} aria-hidden style={{ flex: "none" }} />;
}
