import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { loadPart } from "@/api/connection/loadPart";
import { rootRoute } from "@/app/root";
import { parseToolsSearch } from "./search";

export const toolsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/tools",
  validateSearch: parseToolsSearch,
  component: lazyRouteComponent(() => loadPart(() => import("./ToolsPage")), "ToolsPage"),
});
