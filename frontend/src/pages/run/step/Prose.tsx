import type { ReactElement } from "react";
import { MarkdownText } from "@/features/markdown/MarkdownText";
import { useBeginning } from "@/ui/TextView";

/** Recorded text that was written to be read. Long texts are collapsed. */
export function Prose({ text }: { text: string }): ReactElement {
  const { visible, more } = useBeginning(text, 4000);
  return (
    <>
      <MarkdownText text={visible} />
      {more}
    </>
  );
}
