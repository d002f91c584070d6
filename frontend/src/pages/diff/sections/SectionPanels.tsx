import { Button, SegmentedControl, UnstyledButton } from "@mantine/core";
import { IconX } from "@tabler/icons-react";
import { useState, type ReactElement } from "react";
import type { Section } from "@/api/schema";
import { pluralize } from "@/ui/format/numbers";
import { useScreenQuery } from "@/ui/paper/paper";
import { useReport } from "../reportContext";
import { SECTION_NAMES, SECTION_TITLES, occurrenceOf, sectionId, visibleItems, type DiffSearch } from "../search";
import { SectionItemCard } from "./SectionItemCard";
import { BothSteps } from "../StepLink";
import classes from "./SectionPanels.module.css";

interface Props {
  search: DiffSearch;
  onSearch: (change: Partial<DiffSearch>) => void;
}

/** The sections of the report, one below another. Selecting a pair of steps filters all of them. */
export function SectionPanels({ search, onSearch }: Props): ReactElement {
  const { sections } = useReport().report;
  const isNarrow = useScreenQuery("(max-width: 45rem)");
  const names = SECTION_NAMES.filter((name) => hasContent(sections[name], search.pair));
  const emptyNames = SECTION_NAMES.filter((name) => !names.includes(name));
  return (
    <>
      {search.pair !== undefined && <PairFilter pair={search.pair} onClear={() => onSearch({ pair: undefined })} />}
      {names.map((name) => (
        <section
          key={name}
          id={sectionId(name)}
          className={`panel ${classes.section}`}
          aria-label={SECTION_TITLES[name]}
        >
          <header className={classes.head}>
            <h2>{SECTION_TITLES[name]}</h2>
            <span className={`muted ${classes.summary}`}>{search.pair === undefined && sections[name].summary}</span>
            {!isNarrow && hasTexts(sections[name]) && <LayoutSwitch search={search} onSearch={onSearch} />}
          </header>
          <SectionBody
            key={search.pair ?? ""}
            section={sections[name]}
            pair={search.pair}
            isUnified={search.unified ?? isNarrow}
          />
        </section>
      ))}
      {emptyNames.length > 0 && (
        <p className={`muted ${classes.nothing}`}>
          {search.pair === undefined ? "No differences" : "These steps do not differ"} in{" "}
          {emptyNames.map((name) => SECTION_TITLES[name]).join(", ")}.
        </p>
      )}
    </>
  );
}

function hasContent(section: Section, pair: string | undefined): boolean {
  return visibleItems(section.items, pair).length > 0 || (pair === undefined && section.unavailable.length > 0);
}

function hasTexts(section: Section): boolean {
  return section.items.some(({ text, messages }) => text !== null || messages.length > 0);
}

function LayoutSwitch({ search, onSearch }: Props): ReactElement {
  return (
    <SegmentedControl
      aria-label="Text layout"
      value={search.unified ? "unified" : "split"}
      onChange={(value) => onSearch({ unified: value === "unified" ? true : undefined })}
      data={[
        { value: "split", label: "Side by side" },
        { value: "unified", label: "Unified" },
      ]}
    />
  );
}

function PairFilter({ pair, onClear }: { pair: string; onClear: () => void }): ReactElement {
  const [base, candidate] = pair.split("-");
  return (
    <UnstyledButton className={classes.filter} onClick={onClear} title="Show the differences of all steps">
      Only {base && `base step ${base}`} {base && candidate && "and"} {candidate && `candidate step ${candidate}`}
      <IconX size={12} aria-hidden />
    </UnstyledButton>
  );
}

/** Differences to render at first. Each may contain long texts. */
const FIRST = 12;

function SectionBody(props: { section: Section; pair: string | undefined; isUnified: boolean }): ReactElement {
  const { section, pair, isUnified } = props;
  const [limit, setLimit] = useState(FIRST);
  const items = visibleItems(section.items, pair);
  const remaining = items.length - limit;
  return (
    <div className={classes.body}>
      {items.slice(0, limit).map((item, index) => (
        <SectionItemCard
          key={index}
          section={section.name}
          item={item}
          occurrence={occurrenceOf(item, section.items)}
          isUnified={isUnified}
        />
      ))}
      {remaining > 0 && (
        <Button variant="default" className={classes.more} onClick={() => setLimit(items.length)}>
          Show {pluralize(remaining, "more difference")}
        </Button>
      )}
      {pair === undefined && section.unavailable.length > 0 && <UnavailableList section={section} />}
    </div>
  );
}

/** What the report could not compare, and why. */
function UnavailableList({ section }: { section: Section }): ReactElement {
  return (
    <div className={classes.unavailable}>
      <h3>Not compared</h3>
      <ul>
        {section.unavailable.map((entry, index) => (
          <li key={index}>
            <span>
              <b>{entry.what}</b> {entry.reason}
            </span>
            <BothSteps base={entry.base} candidate={entry.candidate} />
          </li>
        ))}
      </ul>
    </div>
  );
}
