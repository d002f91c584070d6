import { createRoute, lazyRouteComponent, redirect } from "@tanstack/react-router";
import { loadPart } from "@/api/connection/loadPart";
import { paths } from "@/app/paths";
import { rootRoute } from "@/app/root";

export const hooksRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/settings/hooks",
  component: lazyRouteComponent(() => loadPart(() => import("./HooksPage")), "HooksPage"),
});

/** The address that the page had as a place of its own. */
export const formerHooksRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/hooks",
  beforeLoad: () => {
    throw redirect({ ...paths.hooks(), replace: true });
  },
});
