import { useNotifications } from "@mantine/notifications";
import { lazy, Suspense, type ReactElement } from "react";
import { loadPart } from "@/api/connection/loadPart";
import { useOnce } from "@/ui/late/useOnce";
import classes from "./Toasts.module.css";

const ToastList = lazy(() => loadPart(() => import("./ToastList")));

/** Messages in the corner. Their code loads with the first one. */
export function Toasts(): ReactElement | null {
  const isNeeded = useOnce(useNotifications().notifications.length > 0);
  return isNeeded ? (
    <Suspense>
      <ToastList position="bottom-left" autoClose={6000} limit={4} classNames={{ root: classes.list }} />
    </Suspense>
  ) : null;
}
