/** The state of the diff page that its address stores. */
import type { SectionItem } from "@/api/schema";
import { concerns } from "./steps/pairs";

export const SECTION_NAMES = ["prompt", "retrieval", "tool", "model", "output", "run"] as const;
export type SectionName = (typeof SECTION_NAMES)[number];

export interface DiffSearch {
  section?: SectionName;
  /** The selected pair by step numbers: `5-5`, `7-`, `-8`. */
  pair?: string;
  /** Show texts in one column instead of side by side. */
  // oxlint-disable-next-line project/loose -- part of the address of shared reports
  unified?: true;
  /** Show unchanged steps, too. */
  all?: true;
}

export function parseDiffSearch(search: Record<string, unknown>): DiffSearch {
  const section = SECTION_NAMES.find((name) => name === search["section"]);
  const pair = readPair(search["pair"]);
  return {
    ...(section && { section }),
    ...(pair && { pair }),
    ...(search["unified"] === true && { unified: true as const }),
    ...(search["all"] === true && { all: true as const }),
  };
}

/** The router parses a bare `-8` as a number. */
function readPair(value: unknown): string | null {
  const text = typeof value === "number" ? String(value) : value;
  return typeof text === "string" && /^(\d+-\d*|-\d+)$/.test(text) ? text : null;
}

/** The visible items of a section: all, or those of the selected pair. */
export function visibleItems(items: readonly SectionItem[], pair: string | undefined): SectionItem[] {
  return pair === undefined ? [...items] : items.filter((item) => concerns(item, pair));
}

/** Which of the differences of its kind at its steps an item is, from 0. */
export function occurrenceOf(item: SectionItem, items: readonly SectionItem[]): number {
  return items.slice(0, items.indexOf(item)).filter(({ kind, base, candidate }) => {
    const isSamePair = base?.id === item.base?.id && candidate?.id === item.candidate?.id;
    return kind === item.kind && isSamePair;
  }).length;
}

export const SECTION_TITLES: Record<SectionName, string> = {
  prompt: "Prompt",
  retrieval: "Retrieval",
  tool: "Tools",
  model: "Model",
  output: "Output",
  run: "Run",
};

/** The id of a section's panel, to which the index scrolls. */
export function sectionId(name: string): string {
  return `section-${name}`;
}
