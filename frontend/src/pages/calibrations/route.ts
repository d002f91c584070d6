import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { loadPart } from "@/api/connection/loadPart";
import { rootRoute } from "@/app/root";

export const calibrationRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/calibrations/$calibration",
  component: lazyRouteComponent(() => loadPart(() => import("./CalibrationPage")), "CalibrationPage"),
});
