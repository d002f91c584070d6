import type { ReactElement } from "react";
import classes from "./Tags.module.css";

interface Props {
  tags: readonly string[];
  /** Tags shown; the others are counted. */
  limit?: number;
  className?: string | undefined;
}

/** Tags: words of people and of the source, in squares. */
export function Tags({ tags, limit = 2, className = "" }: Props): ReactElement | null {
  if (tags.length === 0) return null;
  const rest = tags.slice(limit);
  return (
    <span className={`${classes.tags} ${className}`}>
      <span className={classes.shown}>
        {tags.slice(0, limit).map((tag) => (
          <span key={tag} className={classes.tag} title={tag}>
            {tag}
          </span>
        ))}
      </span>
      {rest.length > 0 && (
        <span className={`${classes.tag} ${classes.count}`} title={rest.join(", ")}>
          +{rest.length}
        </span>
      )}
    </span>
  );
}
