import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { loadPart } from "@/api/connection/loadPart";
import { rootRoute } from "@/app/root";

export const sessionRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/replays/$session",
  component: lazyRouteComponent(() => loadPart(() => import("./SessionPage")), "SessionPage"),
});

export const sharedReplayRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/share/$token/replay",
  component: lazyRouteComponent(() => loadPart(() => import("./SharedReplay")), "SharedReplay"),
});
