import { IconChevronRight } from "@tabler/icons-react";
import { useState, type ReactElement, type ReactNode } from "react";
import { usePaper } from "@/ui/paper/paper";
import classes from "./Transcript.module.css";

interface Props {
  /** The content in one line. */
  line: ReactNode;
  /** What replaces the line while all content is visible. */
  title: string;
  /** Contains the lines of code of a tool. */
  isCode?: boolean;
  isFailed?: boolean;
  children: () => ReactNode;
}

/** One line that unfolds. */
export function Fold({ line, title, isCode = false, isFailed = false, children }: Props): ReactElement {
  const [isUnfolded, setUnfolded] = useState(false);
  const isPaper = usePaper();
  const isOpen = isUnfolded || isPaper;
  return (
    <div className={isCode ? classes.code : classes.fold} data-failed={isFailed || undefined}>
      <button
        type="button"
        className={classes.foldLine}
        aria-expanded={isOpen}
        onClick={() => setUnfolded(!isUnfolded)}
      >
        <IconChevronRight size={13} className={classes.twist} aria-hidden />
        <span className="ellipsis">{isOpen ? title : line}</span>
      </button>
      {isOpen && <div className={classes.unfolded}>{children()}</div>}
    </div>
  );
}
