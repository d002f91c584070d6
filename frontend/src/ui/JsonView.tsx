import { IconChevronRight } from "@tabler/icons-react";
import { useState, type ReactElement, type ReactNode } from "react";
import type { JsonValue } from "@/api/schema";
import { count } from "@/ui/format/numbers";
import { entriesOf, isBranch, PAGE, preview } from "@/ui/format/json";
import { usePaper } from "@/ui/paper/paper";
import classes from "./JsonView.module.css";
import { LongText } from "./TextView";

/** A JSON value as a tree. Long lists are paged and long texts collapsed, so that any size stays fast. */
export function JsonView({ value, open = 2 }: { value: JsonValue; open?: number }): ReactElement {
  return (
    <div className={classes.tree}>
      {isBranch(value) ? <Entries value={value} open={open} /> : <Leaf value={value} />}
    </div>
  );
}

function Entries({ value, open }: { value: JsonValue; open: number }): ReactElement {
  const [limit, setLimit] = useState(PAGE);
  const entries = entriesOf(value);
  if (entries.length === 0) return <span className="muted">{preview(value)}</span>;
  return (
    <ul className={classes.entries}>
      {entries.slice(0, limit).map(([name, item]) => (
        <Entry key={name} name={name} value={item} open={open} />
      ))}
      {entries.length > limit && (
        <li>
          <button type="button" className={classes.more} onClick={() => setLimit(limit + PAGE)}>
            {count(Math.min(PAGE, entries.length - limit))} more of {count(entries.length)}
          </button>
        </li>
      )}
    </ul>
  );
}

function Entry({ name, value, open }: { name: string; value: JsonValue; open: number }): ReactElement {
  const [isUnfolded, setUnfolded] = useState(open > 0 && entriesOf(value).length <= PAGE);
  const isPaper = usePaper();
  const opened = isUnfolded || isPaper;
  if (!isBranch(value) || entriesOf(value).length === 0) {
    return (
      <li className={classes.leaf}>
        <Name>{name}</Name> <Leaf value={value} />
      </li>
    );
  }
  return (
    <li>
      <button type="button" className={classes.toggle} aria-expanded={opened} onClick={() => setUnfolded(!isUnfolded)}>
        <IconChevronRight size={12} className={opened ? classes.turned : undefined} aria-hidden />
        <Name>{name}</Name>
        <span className="muted">{opened ? (Array.isArray(value) ? `[${value.length}]` : "") : preview(value)}</span>
      </button>
      {opened && <Entries value={value} open={open - 1} />}
    </li>
  );
}

function Name({ children }: { children: ReactNode }): ReactElement {
  return <span className={classes.name}>{children}</span>;
}

function Leaf({ value }: { value: JsonValue }): ReactElement {
  if (typeof value === "string") return <LongText className={classes.string} text={value} quotes='""' />;
  return (
    <span className={value === null ? "muted" : classes.atom}>{isBranch(value) ? preview(value) : String(value)}</span>
  );
}
