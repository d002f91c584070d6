import { ActionIcon, Button, CloseButton, Tooltip } from "@mantine/core";
import { IconBraces, IconFlask, IconGitFork, IconPlayerPlay } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { lazy, Suspense, useDeferredValue, useRef, useState, type KeyboardEvent, type ReactElement } from "react";
import { loadPart } from "@/api/connection/loadPart";
import { stepQuery } from "@/api/runs/runs";
import type { RunDetail, StepSummary } from "@/api/schema";
import { ErrorState } from "@/ui/ErrorState";
import { BlockableButton } from "@/ui/buttons/BlockableButton";
import { Keys } from "@/ui/keyboard/Kbd";
import { paths } from "@/app/paths";
import { useShortcuts } from "@/ui/keyboard/shortcuts";
import { pluralize } from "@/ui/format/numbers";
import { entryOf } from "@/domain/overrides/draft";
import classes from "./Fork.module.css";
import { EngineChoice } from "@/features/runners/engine/EngineChoice";
import { Changes } from "./Changes";
import { VariableFields } from "./engine/VariableFields";
import { useOnlineRunners } from "@/features/runners/engine/useOnlineRunners";
import { useRoleObstacle } from "@/features/runners/engine/useRoleObstacle";
import { failureWords } from "@/ui/failure/failure";
import { PlanView } from "./plan/PlanView";
import { PolicyEditor } from "./policy/PolicyEditor";
import { StepEditor } from "./editors/StepEditor";
import { SavedProfiles } from "./saved/SavedProfiles";
import { UnappliedText, useUnappliedFields } from "./unappliedText";
import { useFirstFieldFocus } from "./useFirstFieldFocus";
import type { Fork } from "./useFork";
import type { ReplayChanges } from "./useReplayChanges";

const CONSENT_REQUIRED = "consent_required";

const OverridesJson = lazy(() => loadPart(() => import("./OverridesJson")));

interface Props {
  run: RunDetail;
  fork: Fork;
  forkStep: number;
  step: StepSummary | null;
  replayChanges: ReplayChanges;
  onMoveHere: () => void;
  onOpenFork: (step: number) => void;
  onSelect: (sequenceNo: number) => void;
  onClose: () => void;
}

/** The right region: edit a fork and preview its replay. */
export function ForkPanel({
  run,
  fork,
  forkStep,
  step,
  replayChanges,
  onMoveHere,
  onOpenFork,
  onSelect,
  onClose,
}: Props): ReactElement {
  const [asJson, setAsJson] = useState(false);
  // The panel renders its frame first, so that the key responds at once. The form follows in the next frame.
  const hasFrame = useDeferredValue(true, false);
  const { draft, change, plan } = fork;
  const refusals = plan?.refusals ?? [];
  const runners = useOnlineRunners(fork.engine === "agent" ? run.app : null);
  const roleObstacle = useRoleObstacle();
  const { hasUnapplied, report } = useUnappliedFields();
  const blocker =
    roleObstacle ?? (hasUnapplied ? "A field has text that is not applied." : blockerOf(fork, runners?.length));
  const isBlocked = blocker !== null;
  const launch = () => {
    if (!isBlocked) fork.launch();
  };
  useShortcuts("Fork", [{ keys: "mod+Enter", action: "Start the replay", run: launch, whileTyping: true }]);
  // In a field, the page's Escape is off. An open list or dialog closes first.
  const closeByEscape = (event: KeyboardEvent<HTMLElement>) => {
    const { target, currentTarget } = event;
    if (event.key !== "Escape" || event.defaultPrevented || !(target instanceof HTMLElement)) return;
    if (!currentTarget.contains(target) || target.closest("[aria-expanded=true]")) return;
    event.preventDefault();
    onClose();
  };
  return (
    <section className={classes.panel} aria-label="Fork" onKeyDown={closeByEscape}>
      <div className={classes.head}>
        <IconGitFork size={16} aria-hidden />
        <h2>Fork from step {forkStep}</h2>
        <span className="grow" />
        {hasFrame && <SavedProfiles draft={draft} onChange={change} />}
        <Tooltip label={asJson ? "Edit in the form" : "Edit as JSON"}>
          <ActionIcon
            variant={asJson ? "light" : "subtle"}
            aria-label="Overrides as JSON"
            aria-pressed={asJson}
            onClick={() => setAsJson(!asJson)}
          >
            <IconBraces size={16} />
          </ActionIcon>
        </Tooltip>
        <CloseButton size="sm" aria-label="Close the fork panel" onClick={onClose} />
      </div>
      <div className={classes.scroll}>
        <UnappliedText value={report}>
          {replayChanges.error && (
            <p className="failed" role="alert">
              The replay's changes could not be loaded. {failureWords(replayChanges.error)}
            </p>
          )}
          {replayChanges.pending ? (
            <p className={`muted ${classes.loading}`} role="status">
              Loading the replay's changes…
            </p>
          ) : asJson ? (
            <Suspense fallback={<p className="muted">Loading the editor…</p>}>
              <OverridesJson draft={draft} onChange={change} />
            </Suspense>
          ) : hasFrame ? (
            <Editor fork={fork} forkStep={forkStep} step={step} onMoveHere={onMoveHere} />
          ) : (
            <p className={classes.loading} />
          )}
          {hasFrame && <PolicyEditor draft={draft} onChange={change} />}
        </UnappliedText>
      </div>
      <Changes
        key={forkStep}
        draft={draft}
        refusals={refusals}
        otherForks={fork.otherForks}
        onChange={change}
        onSelect={onSelect}
        onOpenFork={onOpenFork}
      />
      {hasFrame && (
        <EngineChoice
          app={run.app}
          engine={fork.engine}
          runners={runners}
          tools={plan?.unintercepted_tools}
          onChange={fork.changeEngine}
        >
          <VariableFields runners={runners ?? []} variables={fork.variables} onChange={fork.changeVariables} />
        </EngineChoice>
      )}
      <PlanView
        fork={fork}
        // The choice of the engine states which tools need consent.
        orphans={refusals.filter(({ where, code }) => entryOf(where) === null && code !== CONSENT_REQUIRED)}
        onSelect={onSelect}
      />
      <div className={classes.foot}>
        {fork.launchError ? (
          // A toast would cover the button that tries again.
          <span className="failed grow" role="alert">
            The replay did not start. {failureWords(fork.launchError)}
          </span>
        ) : (
          <span className="muted grow ellipsis" role="status">
            {isBlocked
              ? (roleObstacle ?? `${blocker} See above.`)
              : draft.overrides.length > 0
                ? `${pluralize(draft.overrides.length, "change")}, kept after the replay`
                : plan && "No changes yet."}
          </span>
        )}
        <Button
          variant="default"
          leftSection={<IconFlask size={14} />}
          renderRoot={(props) => <Link {...paths.newExperiment({ run: run.id, step: forkStep })} {...props} />}
        >
          Experiment…
        </Button>
        <BlockableButton
          leftSection={<IconPlayerPlay size={14} />}
          rightSection={<Keys keys="mod+Enter" />}
          isBlocked={isBlocked}
          reason={roleObstacle ?? fork.error?.message ?? blocker ?? ""}
          loading={fork.launching}
          onClick={launch}
        >
          Replay
        </BlockableButton>
      </div>
    </section>
  );
}

/** Why the replay cannot start. */
function blockerOf({ plan, error, engine }: Fork, runnerCount: number | undefined): string | null {
  const refusals = plan?.refusals ?? [];
  if (error === null && refusals.length > 0 && refusals.every(({ code }) => code === CONSENT_REQUIRED))
    return "Tools of the agent need consent.";
  if (error !== null || refusals.length > 0) return "The plan rejects these changes.";
  return engine === "agent" && runnerCount === 0 ? "No runner is online." : null;
}

function Editor({
  fork,
  forkStep,
  step,
  onMoveHere,
}: Pick<Props, "fork" | "forkStep" | "step" | "onMoveHere">): ReactElement {
  const detail = useQuery({ ...stepQuery(step?.id ?? ""), enabled: step !== null });
  const editor = useRef<HTMLDivElement>(null);
  useFirstFieldFocus(editor, detail.data !== undefined);
  if (!step) return <p className="muted">Select a step to change it.</p>;
  if (step.sequence_no < forkStep) {
    return (
      <div className={classes.note}>
        Step {step.sequence_no} is before the fork, so it stays as recorded.
        <Button variant="default" onClick={onMoveHere}>
          Fork from step {step.sequence_no} instead
        </Button>
      </div>
    );
  }
  if (detail.isError) return <ErrorState error={detail.error} onRetry={() => void detail.refetch()} />;
  if (!detail.data) return <p className={`muted ${classes.loading}`}>Loading the step…</p>;
  return (
    <div ref={editor}>
      <StepEditor key={step.id} step={detail.data} draft={fork.draft} engine={fork.engine} onChange={fork.change} />
    </div>
  );
}
