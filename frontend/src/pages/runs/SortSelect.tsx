import { Select } from "@mantine/core";
import type { ReactElement } from "react";
import classes from "./RunsPage.module.css";
import { BY_ARRIVAL, SORT_ORDERS } from "./sort";
import { capitalize } from "@/ui/format/text";

interface Props {
  sort: string | undefined;
  onSort: (sort: string | undefined) => void;
}

/** The order of the list, where no heads of columns are. It loads when it is needed. */
export default function SortSelect({ sort, onSort }: Props): ReactElement {
  const options = SORT_ORDERS.map(({ value, words }) => ({ value, label: capitalize(words) }));
  return (
    <Select
      aria-label="Order"
      className={classes.order}
      data={[{ value: "", label: capitalize(BY_ARRIVAL) }, ...options]}
      value={sort ?? ""}
      allowDeselect={false}
      onChange={(value) => onSort(value || undefined)}
    />
  );
}
