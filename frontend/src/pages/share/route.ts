import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { loadPart } from "@/api/connection/loadPart";
import { rootRoute } from "@/app/root";

export const shareRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/share/$token",
  component: lazyRouteComponent(() => loadPart(() => import("./SharePage")), "SharePage"),
});
