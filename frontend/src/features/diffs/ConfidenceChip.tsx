import type { ReactElement } from "react";
import type { Attribution } from "@/api/schema";
import { LabelGlyph } from "@/features/labels/LabelGlyph";
import { CONFIDENCE } from "@/domain/diffs/confidence";

/** The confidence in a cause. `short` omits the word "confidence" where the column names it. */
export function ConfidenceChip(props: {
  confidence: NonNullable<Attribution["confidence"]>;
  title?: string;
  short?: boolean;
}): ReactElement {
  const { mark, means, words } = CONFIDENCE[props.confidence];
  return (
    <span className={`chip ${mark}`} title={props.title ?? means}>
      <LabelGlyph mark={mark} silent size={9} />
      {props.short ? words.replace(" confidence", "") : words}
    </span>
  );
}
