import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { loadPart } from "@/api/connection/loadPart";
import { rootRoute } from "@/app/root";

export const hooksRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/settings/hooks",
  component: lazyRouteComponent(() => loadPart(() => import("./HooksPage")), "HooksPage"),
});
