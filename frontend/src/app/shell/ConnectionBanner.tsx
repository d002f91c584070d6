import { Button } from "@mantine/core";
import { IconPlugConnectedX } from "@tabler/icons-react";
import { useEffect, useState, type ReactElement } from "react";
import { connection, useConnection } from "@/api/connection/connection";
import classes from "./ConnectionBanner.module.css";

/** Says that the server is unreachable, above the page that stays as it is. */
export function ConnectionBanner(): ReactElement {
  const { reachable, nextTry } = useConnection();
  return (
    <div role="status">
      {!reachable && (
        <div className={classes.banner}>
          <IconPlugConnectedX size={17} stroke={1.7} aria-hidden />
          <span>
            <b>Can’t reach the server.</b> {/* Announcing every second would be noise. */}
            <span aria-hidden>{nextTry === null ? "Retrying…" : <Countdown key={nextTry} end={nextTry} />}</span>
          </span>
          <Button variant="default" onClick={() => void connection.check()}>
            Retry now
          </Button>
        </div>
      )}
    </div>
  );
}

function Countdown({ end }: { end: number }): string {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 250);
    return () => clearInterval(timer);
  }, []);
  return `Retrying in ${Math.max(1, Math.ceil((end - now) / 1000))} s`;
}
