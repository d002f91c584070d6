import type { ReactElement, ReactNode } from "react";
import { LabelGlyph } from "./LabelGlyph";
import type { Mark } from "./labels";

/** A state as a chip, with the shape that goes with its colour. */
export function StateChip(props: { mark: Mark | "accent"; title?: string; children: ReactNode }): ReactElement {
  return (
    <span className={`chip ${props.mark}`} title={props.title}>
      {props.mark !== "accent" && <LabelGlyph mark={props.mark} silent size={9} />}
      {props.children}
    </span>
  );
}
