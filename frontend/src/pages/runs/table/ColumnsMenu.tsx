import { Button, Checkbox, Popover } from "@mantine/core";
import { IconColumns3 } from "@tabler/icons-react";
import type { ReactElement } from "react";
import { DEFAULT_COLUMNS, optionalColumns, parseColumns, type OptionalColumn } from "./columnChoice";
import { COLUMNS } from "./columns";
import classes from "../filters/Filters.module.css";

interface Props {
  columns: readonly OptionalColumn[];
  onChange: (columns: readonly OptionalColumn[]) => void;
}

/** Which columns the table shows, as far as they fit. */
export function ColumnsMenu({ columns, onChange }: Props): ReactElement {
  return (
    <Popover position="bottom-end" shadow="md" trapFocus returnFocus>
      <Popover.Target>
        <button type="button" className={classes.quiet}>
          <IconColumns3 size={15} aria-hidden /> Columns
        </button>
      </Popover.Target>
      <Popover.Dropdown className={classes.dropdown}>
        <Checkbox.Group
          value={[...columns]}
          onChange={(names) => onChange(names.length > 0 ? parseColumns(names.join(",")) : [])}
          aria-label="Columns"
        >
          <div className={classes.options}>
            {optionalColumns().map((column) => (
              <Checkbox key={column} value={column} label={COLUMNS[column].title} />
            ))}
          </div>
        </Checkbox.Group>
        <Button variant="default" onClick={() => onChange(DEFAULT_COLUMNS)}>
          Usual columns
        </Button>
        <span className="muted">In a narrow window, some give way to the name.</span>
      </Popover.Dropdown>
    </Popover>
  );
}
