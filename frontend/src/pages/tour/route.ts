import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { loadPart } from "@/api/connection/loadPart";
import { rootRoute } from "@/app/root";

export const tourRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/tour",
  component: lazyRouteComponent(() => loadPart(() => import("./TourPage")), "TourPage"),
});
