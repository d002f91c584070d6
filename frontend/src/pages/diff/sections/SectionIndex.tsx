import { UnstyledButton } from "@mantine/core";
import { useEffect, useState, type ReactElement } from "react";
import { useReport } from "../reportContext";
import { differenceCount, relationCounts } from "../steps/pairs";
import { SECTION_NAMES, SECTION_TITLES, sectionId, visibleItems, type DiffSearch, type SectionName } from "../search";
import classes from "./SectionIndex.module.css";

interface Props {
  search: DiffSearch;
  onSearch: (change: Partial<DiffSearch>) => void;
}

interface Entry {
  name: SectionName | "steps";
  title: string;
  count: number;
}

/** The sections of the page with their counts. It stays in view, and shows where the reader is. */
export function SectionIndex({ search, onSearch }: Props): ReactElement {
  const { pairs, sections } = useReport().report;
  const entries: Entry[] = [
    { name: "steps" as const, title: "Steps", count: differenceCount(relationCounts(pairs)) },
    ...SECTION_NAMES.map((name) => ({
      name,
      title: SECTION_TITLES[name],
      count: visibleItems(sections[name].items, search.pair).length,
    })).filter(({ name, count }) => count > 0 || sections[name].unavailable.length > 0),
  ];
  const current = useVisibleSection(entries.map(({ name }) => name));
  useEffect(() => {
    if (search.section) goTo(search.section);
    // Only the address with which the page opens moves the reader.
    // oxlint-disable-next-line react/exhaustive-deps
  }, []);
  return (
    <nav className={classes.index} aria-label="Sections">
      {entries.map(({ name, title, count }) => (
        <UnstyledButton
          key={name}
          className={classes.entry}
          aria-current={name === current ? "location" : undefined}
          onClick={() => {
            onSearch({ section: name === "steps" ? undefined : name });
            goTo(name);
          }}
        >
          {title} <em>{count}</em>
        </UnstyledButton>
      ))}
    </nav>
  );
}

function goTo(name: Entry["name"]): void {
  document.getElementById(sectionId(name))?.scrollIntoView({ block: "start" });
}

/** The section at the top of the window: the last one that begins visible its upper third. */
function useVisibleSection(names: readonly Entry["name"][]): Entry["name"] {
  const [current, setCurrent] = useState<Entry["name"]>("steps");
  const key = names.join(" ");
  useEffect(() => {
    const scroller = document.getElementById("main");
    const look = () => {
      const line = window.innerHeight / 3;
      const visible = (key.split(" ") as Entry["name"][]).filter((name) => {
        const element = document.getElementById(sectionId(name));
        return element !== null && element.getBoundingClientRect().top < line;
      });
      setCurrent(visible.at(-1) ?? "steps");
    };
    scroller?.addEventListener("scroll", look, { passive: true });
    return () => scroller?.removeEventListener("scroll", look);
  }, [key]);
  return current;
}
