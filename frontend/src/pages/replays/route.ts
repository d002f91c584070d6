import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { loadPart } from "@/api/connection/loadPart";
import { rootRoute } from "@/app/root";

export const replaysRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/replays",
  component: lazyRouteComponent(() => loadPart(() => import("./ReplaysPage")), "ReplaysPage"),
});
