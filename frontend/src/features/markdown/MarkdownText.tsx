import { useLocalStorage } from "@mantine/hooks";
import { lazy, Suspense, type ReactElement } from "react";
import { count } from "@/ui/format/numbers";
import { TextView } from "@/ui/TextView";
import classes from "@/ui/markdown/Markdown.module.css";
import { loadMarkdown } from "./loadMarkdown";

const Markdown = lazy(loadMarkdown);

/** Characters; a longer text would block the page while it is parsed. */
const MAX_LENGTH = 100_000;

/** Whether recorded Markdown is shown as it was recorded, on all pages of this browser. */
export function useRawText(): [boolean, (isRaw: boolean) => void] {
  const [isRaw, setRaw] = useLocalStorage({ key: "raw-text", defaultValue: false, getInitialValueInEffect: false });
  return [isRaw, setRaw];
}

/** Recorded text, rendered as Markdown unless the user prefers it raw or it is too long. */
export function MarkdownText({ text }: { text: string }): ReactElement {
  const [isRaw] = useRawText();
  if (isRaw) return <TextView text={text} />;
  if (text.length > MAX_LENGTH) {
    return (
      <>
        <p className={classes.note}>{count(text.length)} characters are too many to format: shown as recorded.</p>
        <TextView text={text} />
      </>
    );
  }
  return (
    <Suspense
      fallback={
        <div className={classes.text}>
          <TextView text={text} />
        </div>
      }
    >
      <Markdown text={text} />
    </Suspense>
  );
}
