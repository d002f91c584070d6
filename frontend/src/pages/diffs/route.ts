import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { loadPart } from "@/api/connection/loadPart";
import { rootRoute } from "@/app/root";

export const diffsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/diffs",
  component: lazyRouteComponent(() => loadPart(() => import("./DiffsPage")), "DiffsPage"),
});
