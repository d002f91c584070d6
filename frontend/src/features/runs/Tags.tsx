import type { ReactElement } from "react";
import classes from "./Tags.module.css";

interface Props {
  tags: readonly string[];
  /** Tags shown; the others are counted. */
  limit?: number;
  /** Characters shown, if the first tag is no longer; the other tags are counted, too. */
  characters?: number;
  className?: string | undefined;
}

/** Tags: words of people and of the source, in squares. */
export function Tags({ tags, limit = 2, characters = Infinity, className = "" }: Props): ReactElement | null {
  if (tags.length === 0) return null;
  const visibleTags = fittingTags(tags.slice(0, limit), characters);
  const rest = tags.slice(visibleTags.length);
  return (
    <span className={`${classes.tags} ${className}`}>
      <span className={classes.shown}>
        {visibleTags.map((tag) => (
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

/** The first tags that have room, at least one. */
function fittingTags(tags: readonly string[], characters: number): readonly string[] {
  let length = 0;
  return tags.filter((tag, index) => (length += tag.length) <= characters || index === 0);
}
