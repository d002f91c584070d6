import { createRoute, lazyRouteComponent, redirect } from "@tanstack/react-router";
import { loadPart } from "@/api/connection/loadPart";
import { paths } from "@/app/paths";
import { rootRoute } from "@/app/root";

export const treeRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/tree/$run",
  component: lazyRouteComponent(() => loadPart(() => import("./TreePage")), "TreePage"),
});

/** The address that one expects under the run. */
export const runTreeRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/runs/$run/tree",
  beforeLoad: ({ params }) => {
    throw redirect({ ...paths.tree(params.run), replace: true });
  },
});

export const sharedTreeRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/share/$token/tree",
  component: lazyRouteComponent(() => loadPart(() => import("./SharedTree")), "SharedTree"),
});
