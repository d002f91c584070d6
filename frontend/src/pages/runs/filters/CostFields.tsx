import { NumberInput } from "@mantine/core";
import type { ReactElement } from "react";
import type { FilterProps } from "./FilterButton";

/** The fields of the filter by cost. They load when it opens. */
export default function CostFields({ search, onChange }: FilterProps): ReactElement {
  const { min_cost, max_cost, ...rest } = search;
  const setCosts = (min: number | undefined, max: number | undefined) =>
    onChange({ ...rest, ...(min !== undefined && { min_cost: min }), ...(max !== undefined && { max_cost: max }) });
  const number = (value: number | string) => (value === "" ? undefined : Number(value));
  return (
    <>
      <NumberInput
        label="At least (USD)"
        autoFocus
        prefix="$"
        min={0}
        step={0.01}
        value={min_cost ?? ""}
        onChange={(value) => setCosts(number(value), max_cost)}
      />
      <NumberInput
        label="At most (USD)"
        prefix="$"
        min={0}
        step={0.01}
        value={max_cost ?? ""}
        onChange={(value) => setCosts(min_cost, number(value))}
      />
      <span className="muted">Runs with unknown cost are excluded.</span>
    </>
  );
}
