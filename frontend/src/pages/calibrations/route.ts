import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "@/app/root";

export const calibrationRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/calibrations/$calibration",
  component: lazyRouteComponent(() => import("./CalibrationPage"), "CalibrationPage"),
});
