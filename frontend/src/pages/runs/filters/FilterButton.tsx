import { Loader, Popover } from "@mantine/core";
import { IconChevronDown, IconX } from "@tabler/icons-react";
import { Suspense, type ReactElement, type ReactNode } from "react";
import type { RunsSearch } from "../search";
import classes from "./Filters.module.css";

export interface FilterProps {
  search: RunsSearch;
  onChange: (search: RunsSearch) => void;
  /** Open it when it appears. */
  opened?: boolean;
}

interface Props {
  title: string;
  /** The value in words; empty: any. */
  value: string;
  opened: boolean | undefined;
  onClear: () => void;
  children: ReactNode;
}

/** A button that shows the value of a filter and opens its fields, and one that clears it. */
export function FilterButton({ title, value, opened = false, onClear, children }: Props): ReactElement {
  return (
    <span className={classes.filter} data-active={value !== ""}>
      <Popover position="bottom-start" shadow="md" trapFocus returnFocus defaultOpened={opened}>
        <Popover.Target>
          <button type="button" className={classes.button} data-active={value !== ""}>
            {title}
            {value ? <b className="ellipsis">{value}</b> : <IconChevronDown size={13} aria-hidden />}
          </button>
        </Popover.Target>
        <Popover.Dropdown className={classes.dropdown}>
          <Suspense fallback={<Loader size={14} />}>{children}</Suspense>
        </Popover.Dropdown>
      </Popover>
      {value && (
        <button type="button" className={classes.clear} aria-label={`Clear the filter ${title}`} onClick={onClear}>
          <IconX size={13} aria-hidden />
        </button>
      )}
    </span>
  );
}
