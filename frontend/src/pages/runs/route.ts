import { createRoute, lazyRouteComponent, redirect } from "@tanstack/react-router";
import { accessQuery } from "@/api/access";
import { queryClient } from "@/api/client";
import { loadPart } from "@/api/connection/loadPart";
import { tourQuery } from "@/api/tour";
import { paths } from "@/app/paths";
import { rootRoute } from "@/app/root";
import { isTourClosed } from "@/features/tour/visits";
import { parseRunsSearch } from "./search";
import { defaultViewSearch } from "./views/defaultView";

export const runsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/",
  validateSearch: parseRunsSearch,
  // A first visit opens on the tour, but an address with a filter names what to show.
  beforeLoad: async ({ search, cause }) => {
    if (Object.keys(search).length > 0) return;
    const view = defaultViewSearch();
    // On the page itself, an address without filters shows all runs.
    if (view && cause === "enter") throw redirect({ ...paths.runs(view), replace: true });
    if (isTourClosed()) return;
    if (await isTourAvailable()) throw redirect({ ...paths.tour(), replace: true });
  },
  component: lazyRouteComponent(() => loadPart(() => import("./RunsPage")), "RunsPage"),
});

/** What is left of a run's address without its id. */
export const runsFolderRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/runs",
  validateSearch: parseRunsSearch,
  beforeLoad: ({ search }) => {
    throw redirect({ ...paths.runs(search), replace: true });
  },
});

/** Whether there is a tour, and this visitor may replay. */
async function isTourAvailable(): Promise<boolean> {
  try {
    const [access, tour] = await Promise.all([
      queryClient.query({ ...accessQuery, staleTime: "static" }),
      queryClient.query(tourQuery),
    ]);
    return access.role !== "viewer" && (tour.is_loading || tour.run !== null);
  } catch {
    // The list shows what is wrong.
    return false;
  }
}
