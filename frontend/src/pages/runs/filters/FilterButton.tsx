import { Popover } from "@mantine/core";
import { IconChevronDown } from "@tabler/icons-react";
import type { ReactElement, ReactNode } from "react";
import type { RunsSearch } from "../search";
import classes from "./Filters.module.css";

export interface FilterProps {
  search: RunsSearch;
  onChange: (search: RunsSearch) => void;
}

/** A button that shows the value of a filter and opens its fields. */
export function FilterButton(props: { title: string; value: string; children: ReactNode }): ReactElement {
  return (
    <Popover position="bottom-start" shadow="md" trapFocus returnFocus>
      <Popover.Target>
        <button type="button" className={classes.button} data-active={props.value !== ""}>
          {props.title}
          {props.value && <b className="ellipsis">{props.value}</b>}
          <IconChevronDown size={13} aria-hidden />
        </button>
      </Popover.Target>
      <Popover.Dropdown className={classes.dropdown}>{props.children}</Popover.Dropdown>
    </Popover>
  );
}
