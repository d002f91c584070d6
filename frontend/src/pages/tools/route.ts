import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "@/app/root";
import { parseToolsSearch } from "./search";

export const toolsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/tools",
  validateSearch: parseToolsSearch,
  component: lazyRouteComponent(() => import("./ToolsPage"), "ToolsPage"),
});
