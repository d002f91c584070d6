import { Button, SegmentedControl, Tabs, UnstyledButton } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { IconX } from "@tabler/icons-react";
import { useState, type ReactElement } from "react";
import type { Section } from "@/api/schema";
import { pluralize } from "@/ui/format/numbers";
import { useReport } from "../reportContext";
import { openSection, SECTION_NAMES, SECTION_TITLES, visibleItems, type DiffSearch, type SectionName } from "../search";
import { SectionItemCard } from "./SectionItemCard";
import { BothSteps } from "../StepLink";
import classes from "./SectionTabs.module.css";

interface Props {
  search: DiffSearch;
  onSearch: (change: Partial<DiffSearch>) => void;
}

/** The six sections of the report. Selecting a pair of steps filters all of them. */
export function SectionTabs({ search, onSearch }: Props): ReactElement {
  const { sections } = useReport().report;
  const isNarrow = useMediaQuery("(max-width: 720px)");
  const current = openSection(sections, search);
  return (
    <section className="panel" aria-label="Differences by section">
      <Tabs
        value={current}
        onChange={(name) => onSearch({ section: (name ?? undefined) as SectionName | undefined })}
        keepMounted={false}
        classNames={{ list: classes.tabs, tab: classes.tab, panel: classes.panel }}
      >
        <div className={classes.head}>
          <Tabs.List>
            {SECTION_NAMES.map((name) => (
              <Tabs.Tab key={name} value={name}>
                {SECTION_TITLES[name]}
                <em>{visibleItems(sections[name].items, search.pair).length}</em>
              </Tabs.Tab>
            ))}
          </Tabs.List>
          {!isNarrow && (
            <SegmentedControl
              aria-label="Text layout"
              value={search.unified ? "unified" : "split"}
              onChange={(value) => onSearch({ unified: value === "unified" ? true : undefined })}
              data={[
                { value: "split", label: "Side by side" },
                { value: "unified", label: "Unified" },
              ]}
            />
          )}
        </div>
        <Tabs.Panel value={current}>
          {search.pair !== undefined && <PairFilter pair={search.pair} onClear={() => onSearch({ pair: undefined })} />}
          <SectionBody
            key={`${current} ${search.pair ?? ""}`}
            section={sections[current]}
            pair={search.pair}
            isUnified={search.unified ?? isNarrow}
          />
        </Tabs.Panel>
      </Tabs>
    </section>
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
    <>
      {pair === undefined && section.summary && <p className={classes.summary}>{section.summary}</p>}
      {items.length === 0 && <p className={classes.nothing}>{emptyMessage(section, pair)}</p>}
      {items.slice(0, limit).map((item, index) => (
        <SectionItemCard key={index} item={item} isUnified={isUnified} />
      ))}
      {remaining > 0 && (
        <Button variant="default" className={classes.more} onClick={() => setLimit(items.length)}>
          Show {pluralize(remaining, "more difference")}
        </Button>
      )}
      {pair === undefined && section.unavailable.length > 0 && <UnavailableList section={section} />}
    </>
  );
}

function emptyMessage(section: Section, pair: string | undefined): string {
  if (pair !== undefined) return "These steps do not differ in this section.";
  return section.unavailable.length > 0
    ? "No differences in what could be compared."
    : "No differences in this section.";
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
