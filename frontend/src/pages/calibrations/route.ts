import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { loadPart } from "@/api/connection/loadPart";
import { rootRoute } from "@/app/root";

export const matchingRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/settings/matching",
  component: lazyRouteComponent(() => loadPart(() => import("./MatchingPage")), "MatchingPage"),
});

export const agentCalibrationRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/calibrations/by-agent/$calibration",
  component: lazyRouteComponent(() => loadPart(() => import("./AgentCalibrationPage")), "AgentCalibrationPage"),
});

export const calibrationRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/calibrations/$calibration",
  component: lazyRouteComponent(() => loadPart(() => import("./CalibrationPage")), "CalibrationPage"),
});
