import { Button, SegmentedControl, Tooltip } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { IconFlask } from "@tabler/icons-react";
import { useEffect, useState, type ReactElement } from "react";
import { diffQuery } from "@/api/diffs/diffs";
import { useLive } from "@/api/live";
import { isUnderWay, proofsQuery } from "@/api/diffs/proofs";
import type { Evidence, ProofView } from "@/api/schema";
import { useShortcuts } from "@/ui/keyboard/shortcuts";
import { useReport } from "../reportContext";
import { FindingsView } from "./FindingsView";
import { ProofProgress } from "./ProofProgress";
import { ProveDialog } from "./ProveDialog";
import { strongestEvidence } from "./wording";
import classes from "./ProofPanel.module.css";

/** What replays showed about the cause. Readers of a share link see it; the owner can start proofs. */
export function ProofPanel(): ReactElement | null {
  const { report, hasLinks } = useReport();
  if (hasLinks) return <OwnProof />;
  return report.evidence.length > 0 ? (
    <Frame>
      <Answers evidence={report.evidence} />
      <ObservedRuns />
    </Frame>
  ) : null;
}

function OwnProof(): ReactElement {
  const { report } = useReport();
  const [isDialogOpen, dialog] = useDisclosure(false);
  const client = useQueryClient();
  const { data } = useQuery(proofsQuery(report.id));
  useLive({ diff: report.id }, () => void client.invalidateQueries({ queryKey: proofsQuery(report.id).queryKey }));
  const latest = data?.proofs[0];
  const running = latest && isUnderWay(latest) ? latest : null;
  useFreshReport(report.id, data?.proofs ?? []);
  useShortcuts("Report", [{ keys: "p", action: "Prove the cause by replaying", run: dialog.open }]);
  const hasNone = report.evidence.length === 0 && !running;
  return (
    <Frame
      action={
        !running && (
          <Button
            variant={hasNone ? "filled" : "default"}
            leftSection={<IconFlask size={14} stroke={2} />}
            onClick={dialog.open}
          >
            {hasNone ? "Prove it…" : "Run another proof…"}
          </Button>
        )
      }
    >
      {running && <ProofProgress proof={running} />}
      {!running && latest?.status === "failed" && (
        <p className="failed" role="alert">
          The last proof failed: {latest.error}
        </p>
      )}
      {hasNone && <ProofIntro />}
      {report.evidence.length > 0 && !running && <Answers evidence={report.evidence} />}
      <ObservedRuns />
      {isDialogOpen && <ProveDialog diff={report.id} onClose={dialog.close} />}
    </Frame>
  );
}

/** A finished proof attaches evidence to the report, so the report is refetched. */
function useFreshReport(diff: string, proofs: readonly ProofView[]): void {
  const client = useQueryClient();
  const proofCount = proofs.filter(({ evidence }) => evidence !== null).length;
  const evidenceCount = useReport().report.evidence.length;
  useEffect(() => {
    if (proofCount > evidenceCount) void client.invalidateQueries({ queryKey: diffQuery(diff).queryKey, exact: true });
  }, [client, diff, proofCount, evidenceCount]);
}

function Frame(props: { action?: ReactElement | false; children: React.ReactNode }): ReactElement {
  return (
    <section className="panel" aria-labelledby="proof">
      <header className={classes.head}>
        <h2 id="proof">Proof by replaying</h2>
        {props.action}
      </header>
      <div className={classes.body}>{props.children}</div>
    </section>
  );
}

function ProofIntro(): ReactElement {
  return (
    <p className="muted">
      So far the cause is inferred from the recordings. Replays can test it: the base with each change alone, and the
      candidate without it. They show which change is sufficient, which is necessary, which part of it matters, and
      whether chance explains the difference.
    </p>
  );
}

/** The verdict of the recordings alone, shown if an experiment has replaced it. */
function ObservedRuns(): ReactElement | null {
  const { observed } = useReport().report;
  return (
    observed && (
      <p className={`muted ${classes.observed}`}>
        The recordings alone suggested, with {observed.confidence ?? "no"} confidence: {observed.sentence}
      </p>
    )
  );
}

/** The answer to each question that was tested, strongest first. */
function Answers({ evidence }: { evidence: readonly Evidence[] }): ReactElement | null {
  const best = strongestEvidence(evidence);
  const [selectedId, choose] = useState<string | null>(null);
  const selection = evidence.find(({ id }) => id === selectedId) ?? best;
  if (!selection) return null;
  return (
    <>
      {evidence.length > 1 && (
        <Tooltip label="Each question about the difference has its own answer">
          <SegmentedControl
            className={classes.questions ?? ""}
            aria-label="Question"
            value={selection.id}
            onChange={choose}
            data={evidence.map(({ id, question }) => ({ value: id, label: question.text }))}
          />
        </Tooltip>
      )}
      <FindingsView findings={selection} />
    </>
  );
}
