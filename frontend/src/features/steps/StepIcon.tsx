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

/** The icon of a step's type. `hasLabel` adds an accessible name where no text is next to it. */
export function StepIcon({
  type,
  size = 14,
  hasLabel = false,
}: {
  type: StepType;
  size?: number;
  hasLabel?: boolean;
}): ReactElement {
  const Shape = icons[type];
  const name = hasLabel ? { role: "img", "aria-label": type } : { "aria-hidden": true };
  return <Shape size={size} stroke={1.7} style={{ flex: "none" }} {...name} />;
}
