import { Button, CloseButton } from "@mantine/core";
import { useLocalStorage } from "@mantine/hooks";
import { IconPlayerPlay } from "@tabler/icons-react";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { diffsQuery } from "@/api/diffs/diffs";
import { runsQuery } from "@/api/runs/runs";
import { paths } from "@/app/paths";
import { ProductLine } from "@/features/product/ProductLine";
import { useShortcuts } from "@/ui/keyboard/shortcuts";
import classes from "./FirstVisit.module.css";
import { allRuns } from "./listing";
import { demoTour, tourDiff, type Tour as DemoTour } from "./tour";

/** A tour of the demo, until the visitor closes it. The palette and the key `t` open it again. */
export function FirstVisit(): ReactElement | null {
  const [closed, setClosed] = useLocalStorage({
    key: "first-visit-closed",
    defaultValue: false,
    getInitialValueInEffect: false,
  });
  // Read on its own: newer runs may fill the first page of the list.
  const demo = useInfiniteQuery({ ...runsQuery({ environment: "demo" }), enabled: !closed });
  useShortcuts("Runs", [{ keys: "t", action: "Show or close the tour", run: () => setClosed(!closed) }]);
  const tour = closed ? null : demoTour(allRuns(demo.data));
  return tour && <Tour tour={tour} onClose={() => setClosed(true)} />;
}

function Tour({ tour, onClose }: { tour: DemoTour; onClose: () => void }): ReactElement {
  const { failed, fork } = tour;
  const diff = tourDiff(tour, useQuery(diffsQuery).data?.diffs ?? []);
  const step = fork.fork_sequence_no ?? 1;
  const session = fork.session_id === null ? {} : { from_session: fork.session_id };
  const comparison = diff ? paths.diff(diff.id) : paths.compare({ base: failed.id, candidate: fork.id });
  return (
    <section className={`panel ${classes.tour}`} aria-labelledby="first-visit">
      <h2 id="first-visit" className={classes.title}>
        <ProductLine />
      </h2>
      <p className={classes.text}>
        In the demo, an agent asked for a refund of 4200 instead of 42 euros. One sentence in its prompt is missing. The
        fork adds it: press <b>Replay</b>, and every step gets a label. The demo model is a local program; nothing
        leaves this machine.
      </p>
      <div className={classes.actions}>
        <Button
          size="md"
          leftSection={<IconPlayerPlay size={17} />}
          renderRoot={(props) => <Link {...paths.run(failed.id, { step, fork: step, ...session })} {...props} />}
        >
          Fork the failed run at step {step}
        </Button>
        <Link {...paths.run(failed.id)}>Open the failed run</Link>
        <Link {...comparison}>Read why the answer changed</Link>
        <Link {...paths.connect()}>Send your own runs</Link>
      </div>
      <CloseButton size="sm" className={classes.close} aria-label="Close the tour" onClick={onClose} />
    </section>
  );
}
