import { Button, TextInput } from "@mantine/core";
import { lazy, type ReactElement } from "react";
import { loadPart } from "@/api/connection/loadPart";
import { FilterButton, type FilterProps } from "./FilterButton";
import classes from "./Filters.module.css";
import { localDay, presets, timeWords } from "@/features/filters/timeRange";

const CostFields = lazy(() => loadPart(() => import("./CostFields")));

export function TimeFilter({ search, onChange, opened }: FilterProps): ReactElement {
  const { since, until, ...rest } = search;
  const setRange = (start: string | undefined, end: string | undefined) =>
    onChange({ ...rest, ...(start && { since: start }), ...(end && { until: end }) });
  return (
    <FilterButton title="Started" opened={opened} value={timeWords(since, until)} onClear={() => onChange(rest)}>
      <div className={classes.presets}>
        {presets.map((preset) => (
          <Button
            key={preset.value}
            variant={since === preset.value ? "light" : "default"}
            onClick={() => setRange(preset.value, undefined)}
          >
            {preset.label}
          </Button>
        ))}
      </div>
      <TextInput
        type="date"
        label="From"
        value={localDay(since)}
        onChange={(event) => setRange(event.currentTarget.value, until)}
      />
      <TextInput
        type="date"
        label="Until"
        value={localDay(until)}
        onChange={(event) => setRange(since, event.currentTarget.value)}
      />
    </FilterButton>
  );
}

export function CostFilter(props: FilterProps): ReactElement {
  const { min_cost, max_cost, ...rest } = props.search;
  const words = [min_cost !== undefined && `≥ $${min_cost}`, max_cost !== undefined && `≤ $${max_cost}`];
  return (
    <FilterButton
      title="Cost"
      opened={props.opened}
      value={words.filter(Boolean).join(", ")}
      onClear={() => props.onChange(rest)}
    >
      <CostFields {...props} />
    </FilterButton>
  );
}
