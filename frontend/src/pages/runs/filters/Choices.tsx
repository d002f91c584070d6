import { Checkbox, TextInput } from "@mantine/core";
import { useState, type ReactElement } from "react";
import type { Facet } from "@/api/schema";
import { count } from "@/ui/format/numbers";
import { choices, withChoices, type ChoiceFilter } from "../search";
import { FilterButton, type FilterProps } from "./FilterButton";
import classes from "./Filters.module.css";

interface Props extends FilterProps {
  name: ChoiceFilter;
  title: string;
  options: Facet[];
  words?: Readonly<Record<string, string>>;
}

/** A filter by values of which a run has one. */
export function Choices({ name, title, options, search, onChange, words = {}, opened }: Props): ReactElement {
  const [text, setText] = useState("");
  const selectedValues = choices(search, name);
  const visible = options.filter(({ value }) => value.toLowerCase().includes(text.toLowerCase()));
  return (
    <FilterButton
      title={title}
      opened={opened}
      value={selectedValues.map((value) => words[value] ?? value).join(", ")}
      onClear={() => onChange(withChoices(search, name, []))}
    >
      {options.length > 8 && (
        <TextInput
          placeholder={`Find ${title.toLowerCase()}`}
          aria-label={`Find ${title.toLowerCase()}`}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          data-autofocus
        />
      )}
      <Checkbox.Group
        value={selectedValues}
        onChange={(values) => onChange(withChoices(search, name, values))}
        aria-label={title}
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
