import { useQuery } from "@tanstack/react-query";
import { lazy, type ReactElement } from "react";
import { loadPart } from "@/api/connection/loadPart";
import { judgementNamesQuery } from "@/api/outcomes";
import { choices } from "../search";
import { FilterButton, type FilterProps } from "./FilterButton";
import { judgementWords, withoutJudgement } from "./judgementWords";

const JudgementFields = lazy(() => loadPart(() => import("./JudgementFields")));

/** Runs with a judgement: its name, its source, what it says, and the range of its score. All are of one judgement. */
export function JudgementFilter(props: FilterProps): ReactElement | null {
  const { search } = props;
  const { data } = useQuery(judgementNamesQuery());
  const names = [...new Set([...(data?.names.map(({ name }) => name) ?? []), ...choices(search, "judgement")])];
  const value = judgementWords(search);
  if (names.length === 0 && !value) return null;
  return (
    <FilterButton
      title="Judgement"
      opened={props.opened}
      value={value}
      onClear={() => props.onChange(withoutJudgement(search))}
    >
      <JudgementFields {...props} names={names} />
    </FilterButton>
  );
}
