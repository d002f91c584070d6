import { Button, SegmentedControl, Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useRef, type ReactElement } from "react";
import { authorsQuery } from "@/api/replays/activity";
import { paths } from "@/app/paths";
import { OUTCOMES } from "@/domain/runs/outcome";
import { SearchField } from "@/features/filters/SearchField";
import { presets } from "@/features/filters/timeRange";
import { useShortcuts } from "@/ui/keyboard/shortcuts";
import classes from "./ActivityPage.module.css";
import { isFiltered, KINDS, parseActivitySearch, STATES, type ActivitySearch } from "./search";

const ALL = "all";
const TIMES = presets.map(({ value, label }) => ({ value, label: `Last ${label}` }));

/** The filters of the list. The address stores them. */
export function Filters({ search, withAuthors }: { search: ActivitySearch; withAuthors: boolean }): ReactElement {
  const navigate = useNavigate();
  const field = useRef<HTMLInputElement>(null);
  useShortcuts("Activity: search", [{ keys: "/", action: "Search", run: () => field.current?.select() }]);
  const set = (name: keyof ActivitySearch, value: string | null) =>
    void navigate({ ...paths.activity(parseActivitySearch({ ...search, [name]: value })), replace: true });
  const choice = (name: keyof ActivitySearch, label: string, data: Choice[]) => (
    <Select
      className={classes.choice}
      aria-label={label}
      placeholder={label}
      data={data}
      value={search[name] ?? null}
      onChange={(value) => set(name, value)}
      clearable
      clearButtonProps={{ "aria-label": `Clear the filter ${label}` }}
    />
  );
  return (
    <div className={classes.filters}>
      <div className={classes.kinds}>
        <SegmentedControl
          aria-label="Kind"
          value={search.kind ?? ALL}
          onChange={(value) => set("kind", value)}
          data={[{ value: ALL, label: "All" }, ...options(KINDS)]}
        />
      </div>
      <SearchField
        label="Search activity"
        placeholder="Search changes, answers, findings"
        ref={field}
        className={classes.search}
        value={search.q ?? ""}
        onChange={(text) => set("q", text)}
      />
      {choice("outcome", "Any outcome", options(OUTCOMES))}
      {choice("state", "Any state", options(STATES))}
      {withAuthors && <AuthorChoice choice={(data) => choice("author", "Anyone", data)} value={search.author} />}
      {choice("start", "Any time", TIMES)}
      {isFiltered(search) && (
        <Button variant="subtle" onClick={() => void navigate({ ...paths.activity(), replace: true })}>
          Clear
        </Button>
      )}
    </div>
  );
}

interface Choice {
  value: string;
  label: string;
}

const options = (words: Readonly<Record<string, string>>): Choice[] =>
  Object.entries(words).map(([value, label]) => ({ value, label }));

/** The people and programs that started anything; also the one in the address, if it is none of them. */
function AuthorChoice(props: { choice: (data: Choice[]) => ReactElement; value: string | undefined }): ReactElement {
  const { data } = useQuery(authorsQuery);
  const names = new Set([...(data?.authors ?? []), ...(props.value ? [props.value] : [])]);
  return props.choice([...names].map((name) => ({ value: name, label: name })));
}
