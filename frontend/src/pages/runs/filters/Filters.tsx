import { Button, Checkbox, NumberInput, TextInput } from "@mantine/core";
import { IconX } from "@tabler/icons-react";
import { useState, type ReactElement } from "react";
import type { Facet, RunFacets } from "@/api/schema";
import { count } from "@/ui/format/numbers";
import { OUTCOMES } from "@/domain/runs/outcome";
import { choices, isFiltered, withChoices, type ChoiceFilter } from "../search";
import { FilterButton, type FilterProps } from "./FilterButton";
import classes from "./Filters.module.css";
import { JudgementFilter } from "./JudgementFilter";
import { localDay, presets, timeWords } from "./timeRange";

const labels: Facet[] = ["live", "exact", "cached", "simulated"].map((value) => ({ value, count: 0 }));

export function Filters({ search, facets, onChange }: FilterProps & { facets: RunFacets | undefined }): ReactElement {
  const props = { search, onChange };
  return (
    <>
      <Choices {...props} name="app" title="App" options={facets?.apps} />
      <Choices {...props} name="environment" title="Environment" options={facets?.environments} />
      <Choices {...props} name="outcome" title="Outcome" options={facets?.outcomes} words={OUTCOMES} />
      <JudgementFilter {...props} />
      <Choices {...props} name="status" title="Status" options={facets?.statuses} />
      <Choices {...props} name="source" title="Source" options={facets?.sources} />
      <Choices {...props} name="tag" title="Tag" options={facets?.tags} />
      <Choices {...props} name="label" title="Label" options={labels} />
      <Time {...props} />
      <Cost {...props} />
      {isFiltered(search) && (
        <Button
          variant="subtle"
          color="gray"
          leftSection={<IconX size={13} />}
          onClick={() => onChange(search.sort ? { sort: search.sort } : {})}
        >
          Clear
        </Button>
      )}
    </>
  );
}

function Choices(
  props: FilterProps & {
    name: ChoiceFilter;
    title: string;
    options: Facet[] | undefined;
    words?: Readonly<Record<string, string>>;
  },
): ReactElement | null {
  const { name, search, onChange, words = {} } = props;
  const [text, setText] = useState("");
  const selectedValues = choices(search, name);
  const options = (props.options ?? []).filter(({ value }) => value !== "");
  const visible = options.filter(({ value }) => value.toLowerCase().includes(text.toLowerCase()));
  if (options.length === 0 && selectedValues.length === 0) return null;
  return (
    <FilterButton title={props.title} value={selectedValues.map((value) => words[value] ?? value).join(", ")}>
      {options.length > 8 && (
        <TextInput
          placeholder={`Find ${props.title.toLowerCase()}`}
          aria-label={`Find ${props.title.toLowerCase()}`}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          data-autofocus
        />
      )}
      <Checkbox.Group
        value={selectedValues}
        onChange={(values) => onChange(withChoices(search, name, values))}
        aria-label={props.title}
      >
        <div className={classes.options}>
          {visible.slice(0, 200).map((option) => (
            <Checkbox
              key={option.value}
              value={option.value}
              label={
                <span className={classes.option}>
                  <span className="ellipsis">{words[option.value] ?? option.value}</span>
                  {option.count > 0 && <span className="muted num">{count(option.count)}</span>}
                </span>
              }
            />
          ))}
          {visible.length === 0 && <span className="muted">No matching values.</span>}
        </div>
      </Checkbox.Group>
    </FilterButton>
  );
}

function Time({ search, onChange }: FilterProps): ReactElement {
  const { since, until, ...rest } = search;
  const setRange = (start: string | undefined, end: string | undefined) =>
    onChange({ ...rest, ...(start && { since: start }), ...(end && { until: end }) });
  return (
    <FilterButton title="Time" value={timeWords(since, until)}>
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

function Cost({ search, onChange }: FilterProps): ReactElement {
  const { min_cost, max_cost, ...rest } = search;
  const setCosts = (min: number | undefined, max: number | undefined) =>
    onChange({ ...rest, ...(min !== undefined && { min_cost: min }), ...(max !== undefined && { max_cost: max }) });
  const number = (value: number | string) => (value === "" ? undefined : Number(value));
  const words = [min_cost !== undefined && `≥ $${min_cost}`, max_cost !== undefined && `≤ $${max_cost}`];
  return (
    <FilterButton title="Cost" value={words.filter(Boolean).join(", ")}>
      <NumberInput
        label="At least"
        prefix="$"
        min={0}
        step={0.01}
        value={min_cost ?? ""}
        onChange={(value) => setCosts(number(value), max_cost)}
      />
      <NumberInput
        label="At most"
        prefix="$"
        min={0}
        step={0.01}
        value={max_cost ?? ""}
        onChange={(value) => setCosts(min_cost, number(value))}
      />
      <span className="muted">Runs with unknown cost are excluded.</span>
    </FilterButton>
  );
}
