import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { answer, api } from "@/api/client";
import type { EdgeList, RunEdge, StepList, StepSummary } from "@/api/schema";

/** Query parameters of the run list. */
export type RunsFilter = Record<string, string | undefined>;

const page = (filter: RunsFilter, cursor: string, signal?: AbortSignal) => {
  const query = { ...filter, ...(cursor && { cursor }) };
  return answer(api.GET("/api/v1/runs", { params: { query }, ...(signal && { signal }) }));
};

export const firstPage = (filter: RunsFilter) => page(filter, "");

export const runsQuery = (filter: RunsFilter) =>
  infiniteQueryOptions({
    queryKey: ["runs", "list", filter],
    queryFn: ({ pageParam, signal }) => page(filter, pageParam, signal),
    initialPageParam: "",
    getNextPageParam: ({ next }) => next,
    placeholderData: (previous) => previous,
  });

/** Forks of a family that the list shows at most; its tree shows all. */
const FAMILY_LIMIT = "100";

/** The newest forks of a run, and theirs, that match the filters. */
export const familyQuery = (root: string, { sort: _sort, forks: _forks, ...filter }: RunsFilter) =>
  queryOptions({
    queryKey: ["runs", "family", root, filter],
    queryFn: ({ signal }) => page({ ...filter, family: root, limit: FAMILY_LIMIT }, "", signal),
    placeholderData: (previous) => previous,
  });

/** The run that agents sent last; null if there is none. */
export const newestLiveRunQuery = queryOptions({
  queryKey: ["runs", "newest live"],
  queryFn: async ({ signal }) => (await page({ source: "live", limit: "1" }, "", signal)).runs[0] ?? null,
});

export const facetsQuery = queryOptions({
  queryKey: ["runs", "facets"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/runs/facets", { signal })),
});

export const runQuery = (run: string) =>
  queryOptions({
    queryKey: ["run", run],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/runs/{id}", { params: { path: { id: run } }, signal })),
  });

/** Steps of a failed run that are worth checking, and the nearest passing runs. */
export const placesQuery = (run: string) =>
  queryOptions({
    queryKey: ["run", run, "places"],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/runs/{id}/places", { params: { path: { id: run } }, signal })),
  });

/** Steps of a long run to show before the rest has loaded. */
const FIRST = 300;

const stepPage = (run: string, after: number, limit: number | null, signal: AbortSignal): Promise<StepList> => {
  const query = { after: String(after), ...(limit !== null && { limit: String(limit) }) };
  return answer(api.GET("/api/v1/runs/{id}/steps", { params: { path: { id: run }, query }, signal }));
};

/** Steps of a run starting at `first`. `next` is set if there are more. */
export const stepsFromQuery = (run: string, first: number, limit = FIRST) =>
  queryOptions({
    queryKey: ["run", run, "steps from", first, limit],
    queryFn: ({ signal }) => stepPage(run, first - 1, limit, signal),
  });

/** The steps that contain the words in payloads, attributes, names or errors. */
export const stepsWithQuery = (run: string, words: string) =>
  queryOptions({
    queryKey: ["run", run, "steps with", words],
    queryFn: async ({ signal }) => {
      const path = { id: run };
      const page = await answer(api.GET("/api/v1/runs/{id}/steps", { params: { path, query: { q: words } }, signal }));
      return new Set(page.steps.map((step) => step.sequence_no));
    },
    staleTime: Infinity,
  });

/** All steps of a run without payloads, read page by page. */
export const stepsQuery = (run: string) =>
  queryOptions({
    queryKey: ["run", run, "steps"],
    queryFn: async ({ signal }) => {
      const steps: StepSummary[] = [];
      let cursor: number | null = 0;
      while (cursor !== null) {
        const page: StepList = await stepPage(run, cursor, null, signal);
        steps.push(...page.steps);
        cursor = page.next;
      }
      return steps;
    },
  });

/** Pages of edges to read at most. A larger graph shows only these edges. */
const EDGE_PAGES = 5;

/** Provenance edges between the steps of a span. They never change once a run is sealed. */
export const edgesQuery = (run: string, span: { first: number; last: number }) =>
  queryOptions({
    queryKey: ["run", run, "edges", span.first, span.last],
    queryFn: async ({ signal }) => {
      const edges: RunEdge[] = [];
      let cursor: number | null = Math.max(0, span.first - 1);
      for (let page = 0; page < EDGE_PAGES && cursor !== null && cursor < span.last; page++) {
        const query = { after: String(cursor) };
        const edgeList: EdgeList = await answer(
          api.GET("/api/v1/runs/{id}/edges", { params: { path: { id: run }, query }, signal }),
        );
        edges.push(...edgeList.edges);
        cursor = edgeList.next;
      }
      return edges;
    },
  });

/** A step's call as a curl command and as Python. */
export const snippetsQuery = (step: string) =>
  queryOptions({
    queryKey: ["step", step, "snippets"],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/steps/{id}/snippets", { params: { path: { id: step } }, signal })),
  });

export const stepQuery = (step: string) =>
  queryOptions({
    queryKey: ["step", step],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/steps/{id}", { params: { path: { id: step } }, signal })),
    staleTime: Infinity,
  });
