import { CloseButton } from "@mantine/core";
import { useSessionStorage } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useRouterState } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { isUnderWay, proofsQuery } from "@/api/diffs/proofs";
import { TOUR_DIFF_KEY, TOUR_STAGES, type TourStage } from "@/domain/tour/stages";
import { StageBar } from "@/ui/stages/StageBar";
import classes from "./TourBar.module.css";

/** The end of the tour, above the diff that it led to. */
export function TourBar(): ReactElement | null {
  const [diff, , forget] = useSessionStorage({
    key: TOUR_DIFF_KEY,
    defaultValue: "",
    getInitialValueInEffect: false,
  });
  const isHere = useRouterState({ select: (state) => diff !== "" && state.location.pathname === `/diffs/${diff}` });
  return isHere ? <Bar diff={diff} onClose={forget} /> : null;
}

function Bar({ diff, onClose }: { diff: string; onClose: () => void }): ReactElement {
  const { data } = useQuery(proofsQuery(diff));
  const proof = data?.proofs[0];
  const stage = proof ? (isUnderWay(proof) ? "Prove" : null) : "Read";
  return (
    <section className={classes.bar} aria-label="Tour">
      <StageBar label="Stages of the tour" stages={TOUR_STAGES} current={stage} />
      <span className={classes.hint}>{stage ? HINTS[stage] : "That was the tour. You can find it again in Help."}</span>
      <CloseButton size="sm" aria-label="Close the tour" onClick={onClose} />
    </section>
  );
}

const HINTS: Record<Extract<TourStage, "Read" | "Prove">, string> = {
  Read: "Two lines name the change and its effect. Prove it tests them with more replays.",
  Prove: "Each dot is a replay with the change, or without it.",
};
