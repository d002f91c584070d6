import { Button, Menu } from "@mantine/core";
import { IconFilter, IconX } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";
import { judgementNamesQuery } from "@/api/outcomes";
import type { Facet, RunFacets } from "@/api/schema";
import { ORIGINS, STATUSES } from "@/domain/runs/origin";
import { OUTCOMES } from "@/domain/runs/outcome";
import { markWord } from "@/domain/steps/labels";
import { isFiltered, withoutFilters, type ChoiceFilter } from "../search";
import { Choices } from "./Choices";
import type { FilterProps } from "./FilterButton";
import classes from "./Filters.module.css";
import { activeFilters, FILTER_TITLES, type FilterName } from "./filterNames";
import { JudgementFilter } from "./JudgementFilter";
import { CostFilter, TimeFilter } from "./Ranges";

const LABELS: Facet[] = ["live", "exact", "cached", "simulated"].map((value) => ({ value, count: 0 }));
/** Always shown. The others appear with a value, or from the menu. */
const PRIMARY: readonly FilterName[] = ["time", "outcome", "app", "tag"];

export function Filters({ search, facets, onChange }: FilterProps & { facets: RunFacets | undefined }): ReactElement {
  const { data: judgements } = useQuery(judgementNamesQuery());
  const [openName, setOpenName] = useState<FilterName | null>(null);
  const active = activeFilters(search);
  const offers = offersOf(facets, (judgements?.names.length ?? 0) > 0);
  const names = (Object.keys(FILTER_TITLES) as FilterName[]).filter((name) => offers.has(name) || active.has(name));
  const isShown = (name: FilterName) => PRIMARY.includes(name) || active.has(name) || name === openName;
  return (
    <>
      {names.filter(isShown).map((name) => (
        <Filter
          key={name}
          name={name}
          facets={facets}
          search={search}
          onChange={onChange}
          opened={name === openName && !active.has(name)}
        />
      ))}
      <MoreFilters names={names.filter((name) => !isShown(name))} onChoose={setOpenName} />
      {isFiltered(search) && (
        <Button
          variant="subtle"
          color="gray"
          leftSection={<IconX size={13} />}
          onClick={() => onChange(withoutFilters(search))}
        >
          Clear
        </Button>
      )}
    </>
  );
}

function MoreFilters(props: {
  names: readonly FilterName[];
  onChoose: (name: FilterName) => void;
}): ReactElement | null {
  if (props.names.length === 0) return null;
  return (
    <Menu position="bottom-start" shadow="md" returnFocus={false}>
      <Menu.Target>
        <button type="button" className={classes.button}>
          <IconFilter size={14} aria-hidden /> More
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        {props.names.map((name) => (
          <Menu.Item key={name} onClick={() => props.onChoose(name)}>
            {FILTER_TITLES[name]}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

function Filter(props: FilterProps & { name: FilterName; facets: RunFacets | undefined }): ReactElement | null {
  const { name, facets, ...rest } = props;
  const choices = (filter: ChoiceFilter, options: Facet[] | undefined, words?: Readonly<Record<string, string>>) => (
    <Choices
      {...rest}
      name={filter}
      title={FILTER_TITLES[name]}
      options={valuesOf(options)}
      {...(words && { words })}
    />
  );
  switch (name) {
    case "time":
      return <TimeFilter {...rest} />;
    case "cost":
      return <CostFilter {...rest} />;
    case "judgement":
      return <JudgementFilter {...rest} />;
    case "outcome":
      return choices(name, facets?.outcomes, OUTCOMES);
    case "label":
      return choices(name, LABELS, markWord);
    case "app":
      return choices(name, facets?.apps);
    case "tag":
      return choices(name, facets?.tags);
    case "environment":
      return choices(name, facets?.environments);
    case "status":
      return choices(name, facets?.statuses, STATUSES);
    case "source":
      return choices(name, facets?.sources, ORIGINS);
    default:
      return name satisfies never;
  }
}

/** The filters that can tell runs apart. */
function offersOf(facets: RunFacets | undefined, hasJudgements: boolean): ReadonlySet<FilterName> {
  const names: FilterName[] = ["time", "cost", "label"];
  if (hasJudgements) names.push("judgement");
  if (valuesOf(facets?.apps).length > 0) names.push("app");
  if (valuesOf(facets?.tags).length > 0) names.push("tag");
  if (valuesOf(facets?.outcomes).length > 0) names.push("outcome");
  if (valuesOf(facets?.environments).length > 0) names.push("environment");
  if (valuesOf(facets?.statuses).length > 0) names.push("status");
  if (valuesOf(facets?.sources).length > 0) names.push("source");
  return new Set(names);
}

function valuesOf(options: Facet[] | undefined): Facet[] {
  return (options ?? []).filter(({ value }) => value !== "");
}
