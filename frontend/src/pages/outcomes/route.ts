import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { loadPart } from "@/api/connection/loadPart";
import { rootRoute } from "@/app/root";
import { parseOutcomesSearch } from "./search";

export const outcomesRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/settings/outcomes",
  validateSearch: parseOutcomesSearch,
  component: lazyRouteComponent(() => loadPart(() => import("./OutcomesPage")), "OutcomesPage"),
});
