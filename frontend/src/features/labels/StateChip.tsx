import { IconAlertTriangle, IconCheck, IconMinus, IconX, type Icon } from "@tabler/icons-react";
import type { ReactElement, ReactNode } from "react";
import type { Mark } from "@/domain/steps/labels";

/** The shapes of the labels mean how an output was obtained, and nothing else: a state has its own. */
const shapes: Record<Mark, Icon> = {
  exact: IconCheck,
  cached: IconCheck,
  simulated: IconAlertTriangle,
  failed: IconX,
  live: IconMinus,
};

/** A state as a chip, with the shape that goes with its colour. */
export function StateChip(props: { mark: Mark | "accent"; title?: string; children: ReactNode }): ReactElement {
  const Shape = props.mark === "accent" ? null : shapes[props.mark];
  return (
    <span className={`chip ${props.mark}`} title={props.title}>
      {Shape && <Shape size={12} stroke={2.2} aria-hidden />}
      {props.children}
    </span>
  );
}
