import { Button } from "@mantine/core";
import { IconActivity, IconArrowsDiff } from "@tabler/icons-react";
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate, type LinkProps } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { accessQuery } from "@/api/access";
import { useLive } from "@/api/live";
import { activityQuery } from "@/api/replays/activity";
import type { Activity } from "@/api/schema";
import { paths } from "@/app/paths";
import { ConfidenceLevel } from "@/features/diffs/ConfidenceLevel";
import { toInstant } from "@/features/filters/timeRange";
import { StateChip } from "@/features/labels/StateChip";
import { OutcomeMark } from "@/features/runs/RunOutcome";
import { EmptyState } from "@/ui/EmptyState";
import { dayTitle, fullTime, money, timeOfDay } from "@/ui/format/numbers";
import { useShortcuts } from "@/ui/keyboard/shortcuts";
import { LoadedList, RowTable, type Column } from "@/ui/ListPage";
import { PageHeader } from "@/ui/Page";
import classes from "./ActivityPage.module.css";
import { Filters } from "./Filters";
import { KindIcon } from "./KindIcon";
import { isFiltered, type ActivitySearch } from "./search";
import { emptyWords, findingWords, stateWords, subjectWords } from "./wording";
import { usePageTitle } from "@/ui/brand/usePageTitle";

const route = getRouteApi("/activity");

/** Everything that was done with runs, newest first, updated while it runs. */
export function ActivityPage(): ReactElement {
  usePageTitle("Activity");
  const search = route.useSearch();
  const navigate = useNavigate();
  const client = useQueryClient();
  const { data: access } = useQuery(accessQuery);
  const withAuthors = access?.login_required ?? false;
  const query = activityQuery(search, (start) => toInstant(start, "since"));
  const listing = useInfiniteQuery({
    ...query,
    refetchInterval: ({ state }) => (state.data?.pages.some((page) => page.activities.some(isOpen)) ? 2000 : false),
  });
  useLive({ runs: 1 }, () => void client.invalidateQueries({ queryKey: query.queryKey }));
  useShortcuts("Activity", [{ keys: "c", action: "Compare two runs", run: () => void navigate(paths.compare()) }]);
  return (
    <div className={classes.page}>
      <PageHeader title="Activity" note="Replays, diffs, proofs and tests of your runs">
        <Button
          variant="default"
          leftSection={<IconArrowsDiff size={15} />}
          renderRoot={(props) => <Link {...paths.compare()} {...props} />}
        >
          Compare two runs
        </Button>
      </PageHeader>
      <Filters search={search} withAuthors={withAuthors} />
      <section className={`panel ${classes.list}`} aria-label="Activity">
        <LoadedList listing={listing}>
          {({ pages }) => (
            <RowTable
              name="Activity"
              columns={withAuthors ? [...COLUMNS, AUTHOR, COST, TIME] : [...COLUMNS, COST, TIME]}
              rows={pages.flatMap((page) => page.activities)}
              groupOf={({ created_at }) => dayTitle(created_at)}
              empty={<Empty search={search} />}
              onOpen={(entry) => void navigate(linkTo(entry))}
            />
          )}
        </LoadedList>
        {listing.hasNextPage && (
          <div className={classes.more}>
            <Button variant="default" loading={listing.isFetchingNextPage} onClick={() => void listing.fetchNextPage()}>
              Show older
            </Button>
          </div>
        )}
      </section>
    </div>
  );
}

const isOpen = ({ state }: Activity) => state === "running" || state === "waiting";

function Empty({ search }: { search: ActivitySearch }): ReactElement {
  const { title, text } = emptyWords(search);
  const action = isFiltered(search) ? (
    <Link {...paths.activity()}>Show all activity</Link>
  ) : (
    <Link {...paths.runs()}>Go to runs</Link>
  );
  return (
    <EmptyState icon={<IconActivity size={28} stroke={1.5} />} title={title} action={action}>
      {text}
    </EmptyState>
  );
}

/** Where an entry is shown. A proof is part of its diff. */
function linkTo({ kind, id, diff }: Activity): LinkProps {
  switch (kind) {
    case "replay":
      return paths.replay(id);
    case "diff":
      return paths.diff(id);
    case "proof":
      return paths.diff(diff ?? id);
    case "experiment":
      return paths.experiment(id);
    case "bisection":
      return paths.bisection(id);
    case "calibration":
      return paths.calibration(id);
    default:
      return kind satisfies never;
  }
}

const COLUMNS: readonly [Column<Activity>, ...Column<Activity>[]] = [
  {
    title: "Kind",
    className: classes.kind,
    cell: ({ kind }) => <KindIcon kind={kind} />,
  },
  {
    title: "Change and effect",
    className: classes.subject,
    cell: (entry) => (
      <span className={classes.text}>
        <Link {...linkTo(entry)} className={classes.link}>
          {subjectWords(entry)}
        </Link>
        {entry.finding && <span className={classes.effect}>{findingWords(entry)}</span>}
      </span>
    ),
    hint: (entry) => subjectWords(entry) + findingWords(entry),
  },
  {
    title: "Run",
    className: classes.run,
    cell: ({ run_name }) => <bdi>{run_name}</bdi>,
    hint: ({ run_name }) => run_name,
  },
  { title: "Outcome", className: classes.outcome, cell: (entry) => <Result entry={entry} /> },
  {
    title: "Confidence",
    className: classes.confidence,
    cell: ({ confidence }) => (confidence ? <ConfidenceLevel confidence={confidence} short /> : <NoValue />),
  },
];

const AUTHOR: Column<Activity> = { title: "Who", className: classes.author, cell: ({ author }) => author || "–" };

const COST: Column<Activity> = {
  title: "Cost",
  className: classes.cost,
  cell: ({ cost_usd }) => (cost_usd === null ? <NoValue /> : money(cost_usd)),
};

const TIME: Column<Activity> = {
  title: "When",
  className: classes.when,
  cell: ({ created_at }) => timeOfDay(created_at),
  hint: ({ created_at }) => fullTime(created_at),
};

/** A dash in a column; nothing in a card. */
const NoValue = (): ReactElement => <span className={classes.none}>–</span>;

/** The outcome before and after; of what is not complete, its state. */
function Result({ entry }: { entry: Activity }): ReactElement {
  const { mark, words } = stateWords(entry);
  if (entry.state !== "completed") return <StateChip mark={mark}>{words}</StateChip>;
  if (!entry.outcome) return <NoValue />;
  return (
    <span className={classes.pair}>
      {entry.base_outcome && <OutcomeMark outcome={entry.base_outcome} />}
      {entry.base_outcome && <span className="muted">→</span>}
      <OutcomeMark outcome={entry.outcome} />
    </span>
  );
}
