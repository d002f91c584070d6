import { IconAlertTriangle, IconCheck, IconMinus, IconX, type Icon } from "@tabler/icons-react";
import type { ReactElement, ReactNode } from "react";
import type { Mark } from "@/domain/steps/labels";

/** The colour of a label, the accent, or none for what has ended. */
export type ChipMark = Mark | "accent" | "done";

/** States have icons of their own: the shapes of labels only express how an output was obtained. */
const shapes: Record<ChipMark, Icon | null> = {
  accent: null,
  done: IconCheck,
  exact: IconCheck,
  cached: IconCheck,
  simulated: IconAlertTriangle,
  failed: IconX,
  live: IconMinus,
};

/** A state as a chip with an icon that matches its colour. */
export function StateChip(props: { mark: ChipMark; title?: string; children: ReactNode }): ReactElement {
  const Shape = shapes[props.mark];
  return (
    <span className={`chip ${props.mark}`} title={props.title}>
      {Shape && <Shape size={12} stroke={2.2} aria-hidden />}
      {props.children}
    </span>
  );
}
