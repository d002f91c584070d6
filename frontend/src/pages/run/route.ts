import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "@/root";
import { parseRunSearch } from "./search";

export const runRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/runs/$run",
  validateSearch: parseRunSearch,
  component: lazyRouteComponent(() => import("./RunPage"), "RunPage"),
});
