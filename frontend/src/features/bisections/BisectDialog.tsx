import { Loader, NumberInput, Select, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { IconPlayerPlay } from "@tabler/icons-react";
import { useRef, useState, type ReactElement } from "react";
import {
  bisectionPlanQuery,
  startBisection,
  type BisectionSubject,
  type SparseBisection,
} from "@/api/replays/bisections";
import { policiesQuery, profilesQuery } from "@/api/replays/savedProfiles";
import { sessionQuery } from "@/api/replays/replays";
import { runQuery } from "@/api/runs/runs";
import type { Engine } from "@/api/schema";
import { ChecksEditor } from "@/features/checks/ChecksEditor";
import { OutcomeFields } from "@/features/checks/OutcomeFields";
import { EngineChoice } from "@/features/runners/engine/EngineChoice";
import { useOnlineRunners } from "@/features/runners/engine/useOnlineRunners";
import { useRoleObstacle } from "@/features/runners/engine/useRoleObstacle";
import { isOutcomeQuestion, judgementOf, NO_JUDGEMENT } from "@/domain/checks/passQuestion";
import { checksOf, checksProblem, type CheckDraft } from "@/domain/checks/draft";
import { parseModelName } from "@/domain/overrides/modelName";
import { paths } from "@/app/paths";
import { BlockableButton } from "@/ui/buttons/BlockableButton";
import classes from "./BisectDialog.module.css";
import { BisectPlanSummary } from "./BisectPlanSummary";
import { policyChoices, profileChoices, type Choice } from "./choices";
import { firstChecks, firstQuestion, missingWords, type PassQuestion } from "./question";
import { Dialog } from "@/ui/Dialog";
import { failureWords, showFailure } from "@/ui/failure/failure";

interface Props {
  subject: BisectionSubject;
  /** The run whose changes and policy can be reused, if a replay created it. */
  sourceRun: string;
  /** The names of the two runs of a diff, by id. */
  runNames?: Readonly<Record<string, string>>;
  onClose: () => void;
}

/** Set up a bisection: checks, samples, limits, and the estimated cost before anything runs. */
export function BisectDialog({ subject, sourceRun, runNames, onClose }: Props): ReactElement {
  const navigate = useNavigate();
  const run = useQuery(runQuery(sourceRun)).data;
  const app = run?.app ?? null;
  const [draftChecks, setChecks] = useState<CheckDraft[]>();
  const [chosenQuestion, setQuestion] = useState<PassQuestion>();
  const question = chosenQuestion ?? firstQuestion(run);
  const checks = draftChecks ?? firstChecks(question);
  const [choice, setChoice] = useState(NO_JUDGEMENT);
  const [samples, setSamples] = useState(3);
  const [maxCalls, setMaxCalls] = useState<number | null>(null);
  const [model, setModel] = useState("");
  const [profile, setProfile] = useState<string | null>(null);
  const [policy, setPolicy] = useState<string | null>(null);
  const [chosenEngine, setEngine] = useState<Engine>();
  const runners = useOnlineRunners(app);
  // Validators run only with the agent; where the recording is followed, they get placeholders.
  const engine = chosenEngine ?? (question === "outcome" && runners?.length ? "agent" : "follow");
  const choices = useChoices(sourceRun);
  const checkRequests = checksOf(checks);
  const problem = checksProblem(checks);
  const request: SparseBisection = {
    engine,
    question,
    checks: checkRequests,
    ...(question === "judgement" && judgementOf(choice)),
    samples,
    reproduce: samples,
    confirm: Math.max(samples, 5),
    ...(profile ? { overrides: profile } : model.trim() && { overrides: { overrides: [modelOverride(model)] } }),
    ...(policy && { policy }),
    ...(maxCalls !== null && { budget: { max_live_calls: maxCalls } }),
  };
  const [debouncedRequest] = useDebouncedValue(request, 300);
  const missing = missingWords(question, checkRequests.length, choice);
  const ready = problem === null && missing === null;
  const plan = useQuery({
    ...bisectionPlanQuery(subject, debouncedRequest),
    enabled: ready && debouncedRequest.question === question && debouncedRequest.engine === engine,
  });
  const lastRequest = useRef({ text: "", key: "" });
  const start = useMutation({
    mutationFn: () => {
      const text = JSON.stringify(request);
      if (lastRequest.current.text !== text) lastRequest.current = { text, key: crypto.randomUUID() };
      return startBisection(subject, request, lastRequest.current.key);
    },
    onSuccess: (view) => void navigate(paths.bisection(view.id)),
    onError: (error) => showFailure("The bisection did not start", error),
  });
  const roleObstacle = useRoleObstacle();
  const hasNoRunner = engine === "agent" && !runners?.length;
  const isBlocked =
    roleObstacle !== null || !ready || hasNoRunner || plan.error !== null || (plan.data?.refusals.length ?? 1) > 0;
  return (
    <Dialog onClose={onClose} title="Find the point of no return" size="lg">
      <div className={classes.dialog}>
        <p className="muted">
          Forkpoint replays from different steps to find the last one from which the run can still succeed. Steps before
          a fork stay as recorded.
        </p>
        {runNames && (
          <p>
            {plan.data?.run ? (
              <>
                Bisects <b>{runNames[plan.data.run]}</b>, the run that fails.
              </>
            ) : (
              "Bisects the run of this diff that fails."
            )}
          </p>
        )}
        <Select
          data-autofocus
          label="What does a good run pass?"
          data={QUESTIONS}
          value={question}
          allowDeselect={false}
          onChange={(value) => value && setQuestion(value)}
        />
        {isOutcomeQuestion(question) ? (
          <OutcomeFields
            question={question}
            choice={choice}
            onChoice={setChoice}
            checks={checks}
            onChecks={setChecks}
          />
        ) : (
          <ChecksEditor checks={checks} onChange={setChecks} />
        )}
        <div className={classes.fields}>
          <NumberInput
            label="Samples per step"
            value={samples}
            min={1}
            max={20}
            allowDecimal={false}
            onChange={(value) => setSamples(Number(value) || 1)}
          />
          <TextInput
            label="Model for live answers"
            placeholder={profile ? "set by the changes" : "as recorded"}
            disabled={profile !== null}
            value={profile ? "" : model}
            onChange={(event) => setModel(event.currentTarget.value)}
          />
          <NumberInput
            label="Max live calls"
            placeholder="no limit"
            value={maxCalls ?? ""}
            min={1}
            allowDecimal={false}
            onChange={(value) => setMaxCalls(value === "" ? null : Number(value))}
          />
        </div>
        <div className={classes.fields}>
          <SavedSelect
            label="Changes in every replay"
            placeholder="none"
            choices={choices.profiles}
            onChange={setProfile}
          />
          <SavedSelect label="Policy" placeholder="default policy" choices={choices.policies} onChange={setPolicy} />
        </div>
        {app !== null && (
          <EngineChoice
            app={app}
            engine={engine}
            runners={runners}
            onChange={setEngine}
            following="Forkpoint repeats the recorded steps and calls the models and safe tools after each fork."
            tools={plan.data?.unintercepted_tools}
          />
        )}
        <div aria-live="polite" aria-busy={plan.isFetching}>
          {roleObstacle && <p className="failed">{roleObstacle}</p>}
          {problem && <p className="failed">{problem}</p>}
          {!problem && missing && <p className="muted">{missing}</p>}
          {ready && plan.isFetching && !plan.data && <Loader size={12} role="img" aria-label="Planning" />}
          {ready && plan.error && !hasNoRunner && <p className="failed">{failureWords(plan.error)}</p>}
          {ready && !plan.error && plan.data && <BisectPlanSummary plan={plan.data} />}
        </div>
        <BlockableButton
          leftSection={<IconPlayerPlay size={14} />}
          isBlocked={isBlocked}
          loading={start.isPending}
          onClick={() => start.mutate()}
        >
          Bisect
        </BlockableButton>
      </div>
    </Dialog>
  );
}

const QUESTIONS: { value: PassQuestion; label: string }[] = [
  { value: "check", label: "Your checks" },
  { value: "outcome", label: "The app's outcome rule" },
  { value: "judgement", label: "One judgement" },
];

function useChoices(sourceRun: string): { profiles: Choice[]; policies: Choice[] } {
  const sessionId = useQuery(runQuery(sourceRun)).data?.session_id ?? "";
  const session = useQuery({ ...sessionQuery(sessionId), enabled: sessionId !== "" }).data;
  return {
    profiles: profileChoices(useQuery(profilesQuery).data, session),
    policies: policyChoices(useQuery(policiesQuery).data, session),
  };
}

interface SavedSelectProps {
  label: string;
  placeholder: string;
  choices: Choice[];
  onChange: (digest: string | null) => void;
}

/** Select a saved document. Disabled if none is saved. */
function SavedSelect({ label, placeholder, choices, onChange }: SavedSelectProps): ReactElement {
  return (
    <Select
      label={label}
      placeholder={placeholder}
      description={choices.length === 0 ? "None saved yet." : undefined}
      data={choices}
      disabled={choices.length === 0}
      clearable
      onChange={onChange}
    />
  );
}

/** Parse "local: large-1" into an override. Repeats from the start keep the recorded model. */
function modelOverride(text: string): object {
  const { provider, model } = parseModelName(text);
  return { match: { type: "model" }, model: { ...(provider && { provider }), model } };
}
