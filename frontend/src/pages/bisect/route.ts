import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { loadPart } from "@/api/connection/loadPart";
import { rootRoute } from "@/app/root";

export const bisectionRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/bisections/$bisection",
  component: lazyRouteComponent(() => loadPart(() => import("./BisectionPage")), "BisectionPage"),
});
