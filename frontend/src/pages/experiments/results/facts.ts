import type { ExperimentView } from "@/api/schema";
import { count, duration, money, pluralize } from "@/ui/format/numbers";
import { commonSettings } from "./heat/grid";

/** The size, the common settings, the calls, the cost and the duration of an experiment, in one line. */
export function experimentFacts(view: ExperimentView): string {
  const limit = view.request.budget.max_live_calls;
  return [
    `${pluralize(view.cells, "combination")} × ${pluralize(view.samples, "sample")}`,
    ...commonSettings(view.aggregates).map(({ axis, value }) => `${axis}: ${value}`),
    `${count(view.live_calls)}${limit === null ? "" : ` of ${count(limit)}`} live calls`,
    view.cost_usd === null ? "cost unknown" : money(view.cost_usd),
    ...(view.ended_at ? [duration(Date.parse(view.ended_at) - Date.parse(view.created_at))] : []),
  ].join(" · ");
}
