import { createRoute, lazyRouteComponent, redirect } from "@tanstack/react-router";
import { loadPart } from "@/api/connection/loadPart";
import { paths } from "@/app/paths";
import { rootRoute } from "@/app/root";
import { parseActivitySearch, type Kind } from "./search";

export const activityRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/activity",
  validateSearch: parseActivitySearch,
  component: lazyRouteComponent(() => loadPart(() => import("./ActivityPage")), "ActivityPage"),
});

/** The address of a former list, which is part of the activity now. */
const forward = <Path extends string>(path: Path, kind: Kind) =>
  createRoute({
    getParentRoute: () => rootRoute,
    path,
    beforeLoad: () => {
      throw redirect({ ...paths.activity({ kind }), replace: true });
    },
  });

export const replaysRoute = forward("/replays", "replay");
export const diffsRoute = forward("/diffs", "diff");
export const experimentsRoute = forward("/experiments", "experiment");
export const bisectionsRoute = forward("/bisections", "bisection");
