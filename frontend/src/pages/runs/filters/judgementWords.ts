// The filter by one judgement, in words.
import { KINDS, SOURCES } from "@/domain/runs/judgements";
import { choices, type RunsSearch } from "../search";

/** The conditions on the judgement: "helpful ≤ 0.5", "failed by person". Empty if there are none. */
export function judgementWords(search: RunsSearch): string {
  const kinds = choices(search, "judgement_kind").map((kind) => word(KINDS, kind));
  const sources = choices(search, "judgement_source").map((source) => word(SOURCES, source));
  const parts = [
    choices(search, "judgement").join(", "),
    kinds.join(" or "),
    sources.length > 0 && `by ${sources.join(" or ")}`,
    search.min_score !== undefined && `≥ ${search.min_score}`,
    search.max_score !== undefined && `≤ ${search.max_score}`,
  ];
  return parts.filter(Boolean).join(" ");
}

export function withoutJudgement(search: RunsSearch): RunsSearch {
  const { judgement: _name, judgement_kind: _kind, judgement_source: _source, ...rest } = search;
  return withScores(rest, undefined, undefined);
}

export function withScores(search: RunsSearch, min: number | undefined, max: number | undefined): RunsSearch {
  const { min_score: _min, max_score: _max, ...rest } = search;
  return { ...rest, ...(min !== undefined && { min_score: min }), ...(max !== undefined && { max_score: max }) };
}

function word(words: Readonly<Record<string, string>>, name: string): string {
  return words[name] ?? name;
}
