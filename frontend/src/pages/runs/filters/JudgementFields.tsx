import { MultiSelect, NumberInput } from "@mantine/core";
import type { ReactElement } from "react";
import { KINDS, SOURCES } from "@/domain/runs/judgements";
import { choices, withChoices } from "../search";
import type { FilterProps } from "./FilterButton";
import classes from "./Filters.module.css";
import { withScores } from "./judgementWords";

const optionsOf = (words: Readonly<Record<string, string>>) =>
  Object.entries(words).map(([value, label]) => ({ value, label }));
const { tag: _tag, ...STORED_SOURCES } = SOURCES;

/** The fields of the filter by judgement. They load when it opens. */
export default function JudgementFields(props: FilterProps & { names: string[] }): ReactElement {
  const { search, onChange, names } = props;
  const number = (input: number | string) => (input === "" ? undefined : Number(input));
  const popover = { comboboxProps: { withinPortal: false }, clearable: true, openOnFocus: false } as const;
  return (
    <>
      <MultiSelect
        label="Name"
        autoFocus
        placeholder={search.judgement ? "" : "any"}
        searchable
        data={names}
        value={choices(search, "judgement")}
        onChange={(next) => onChange(withChoices(search, "judgement", next))}
        {...popover}
      />
      <MultiSelect
        label="Source"
        placeholder={search.judgement_source ? "" : "any"}
        data={optionsOf(STORED_SOURCES)}
        value={choices(search, "judgement_source")}
        onChange={(next) => onChange(withChoices(search, "judgement_source", next))}
        {...popover}
      />
      <MultiSelect
        label="Verdict"
        placeholder={search.judgement_kind ? "" : "any"}
        data={optionsOf(KINDS)}
        value={choices(search, "judgement_kind")}
        onChange={(next) => onChange(withChoices(search, "judgement_kind", next))}
        {...popover}
      />
      <div className={classes.scores}>
        <NumberInput
          label="Score from"
          value={search.min_score ?? ""}
          onChange={(input) => onChange(withScores(search, number(input), search.max_score))}
          hideControls
        />
        <NumberInput
          label="to"
          value={search.max_score ?? ""}
          onChange={(input) => onChange(withScores(search, search.min_score, number(input)))}
          hideControls
        />
      </div>
    </>
  );
}
