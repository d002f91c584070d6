import { Button, Skeleton } from "@mantine/core";
import { IconX } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useRouter } from "@tanstack/react-router";
import { useEffect, type ReactElement } from "react";
import { tourQuery } from "@/api/tour";
import { paths } from "@/app/paths";
import { ProductLine } from "@/features/product/ProductLine";
import { closeTour } from "@/features/tour/visits";
import { EmptyState } from "@/ui/EmptyState";
import { ErrorState } from "@/ui/ErrorState";
import { useShortcuts } from "@/ui/keyboard/shortcuts";
import { Tour } from "./Tour";
import classes from "./Tour.module.css";

/** The page that a first visit opens on: the demo's failed run, and the change that fixes it, ready to replay. */
export function TourPage(): ReactElement {
  const navigate = useNavigate();
  const { data: tour, error, refetch } = useQuery(tourQuery);
  const close = () => void navigate(paths.runs());
  useClosingOnLeave();
  useShortcuts("Tour", [{ keys: "Escape", action: "Close the tour", run: close, whileTyping: true }]);
  return (
    <div className={classes.page}>
      <title>Tour · Forkpoint</title>
      <div className={classes.body}>
        <header className={classes.header}>
          <h1>
            <ProductLine />
          </h1>
          <Button
            variant="subtle"
            color="gray"
            rightSection={<IconX size={15} />}
            className={classes.close}
            onClick={close}
          >
            Close the tour
          </Button>
        </header>
        {tour?.run && tour.session ? (
          <Tour runId={tour.run} sessionId={tour.session} />
        ) : error ? (
          <ErrorState error={error} onRetry={() => void refetch()} />
        ) : tour && !tour.is_loading ? (
          <NoTour />
        ) : (
          <Skeleton height={460} radius="md" aria-label="Loading the demo" aria-busy="true" />
        )}
        <p className={classes.below}>
          <span>The demo’s model is a local program, not an LLM.</span>
          {tour?.run && <Link {...paths.run(tour.run)}>Open the full run</Link>}
          <Link {...paths.connect()}>Send your own runs</Link>
          <span>or drop a file here</span>
        </p>
      </div>
    </div>
  );
}

/** Whoever goes on to another page has seen the tour: it does not open by itself again. */
function useClosingOnLeave(): void {
  const router = useRouter();
  useEffect(() => router.subscribe("onBeforeNavigate", ({ pathChanged }) => pathChanged && closeTour()), [router]);
}

function NoTour(): ReactElement {
  return (
    <EmptyState
      title="The demo is not loaded"
      action={
        <Button variant="default" renderRoot={(props) => <Link {...paths.runs()} {...props} />}>
          Go to runs
        </Button>
      }
    >
      Its runs were deleted, or this server runs without it. <code>forkpoint serve --demo</code> loads it again.
    </EmptyState>
  );
}
