// The orders of the list, in words. The first order of a column is the one that its first click chooses.

interface SortColumn {
  title: string;
  orders: readonly [SortOrder, SortOrder];
}
interface SortOrder {
  /** The value in the address; with a minus, descending. */
  value: string;
  words: string;
}

const order = (value: string, words: string): SortOrder => ({ value, words });

export const SORT_COLUMNS = {
  outcome: { title: "Outcome", orders: [order("outcome", "failed first"), order("-outcome", "failed last")] },
  name: { title: "Run and answer", orders: [order("name", "by name"), order("-name", "by name, from Z to A")] },
  started: {
    title: "Started",
    orders: [order("-started", "latest start first"), order("started", "earliest start first")],
  },
  duration: { title: "Duration", orders: [order("-duration", "longest first"), order("duration", "shortest first")] },
  steps: { title: "Steps", orders: [order("-steps", "most steps first"), order("steps", "fewest steps first")] },
  tokens: { title: "Tokens", orders: [order("-tokens", "most tokens first"), order("tokens", "fewest tokens first")] },
  cost: { title: "Cost", orders: [order("-cost", "most expensive first"), order("cost", "cheapest first")] },
} satisfies Record<string, SortColumn>;

export type SortColumnName = keyof typeof SORT_COLUMNS;
export const BY_ARRIVAL = "recently added first";
export const SORT_ORDERS: readonly SortOrder[] = Object.values(SORT_COLUMNS).flatMap(({ orders }) => orders);

/** The next order when a column is clicked: its first one, its second one, then the order of arrival. */
export function nextSort(sort: string | undefined, column: SortColumnName): string | undefined {
  const [first, second] = SORT_COLUMNS[column].orders;
  if (sort === first.value) return second.value;
  return sort === second.value ? undefined : first.value;
}

export function sortDirection(sort: string | undefined, column: SortColumnName): "ascending" | "descending" | "none" {
  if (sort === column) return "ascending";
  return sort === `-${column}` ? "descending" : "none";
}

export function sortWords(sort: string | undefined): string {
  return SORT_ORDERS.find(({ value }) => value === sort)?.words ?? BY_ARRIVAL;
}
