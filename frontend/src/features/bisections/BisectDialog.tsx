import { Button, Loader, Modal, NumberInput, Select, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { notifications } from "@mantine/notifications";
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
import type { BisectPlan, BisectRequest } from "@/api/schema";
import { ChecksEditor } from "@/features/checks/ChecksEditor";
import { OutcomeFields } from "@/features/checks/OutcomeFields";
import { isOutcomeQuestion, judgementOf, NO_JUDGEMENT, type JudgementDraft } from "@/domain/checks/passQuestion";
import { checksOf, checksProblem, type CheckDraft } from "@/domain/checks/draft";
import { count, pluralize, money } from "@/ui/format/numbers";
import { parseModelName } from "@/domain/overrides/modelName";
import { sentence } from "@/ui/format/text";
import { paths } from "@/app/paths";
import classes from "./BisectDialog.module.css";
import { policyChoices, profileChoices, type Choice } from "./choices";

type PassQuestion = BisectRequest["question"];

interface Props {
  subject: BisectionSubject;
  /** The run whose changes and policy can be reused, if a replay created it. */
  sourceRun: string;
  onClose: () => void;
}

/** Set up a bisection: checks, samples, limits, and the estimated cost before anything runs. */
export function BisectDialog({ subject, sourceRun, onClose }: Props): ReactElement {
  const navigate = useNavigate();
  const [checks, setChecks] = useState<CheckDraft[]>([{ kind: "contains", text: "" }]);
  const [question, setQuestion] = useState<PassQuestion>("check");
  const [choice, setChoice] = useState(NO_JUDGEMENT);
  const [samples, setSamples] = useState(3);
  const [maxCalls, setMaxCalls] = useState<number | null>(null);
  const [model, setModel] = useState("");
  const [profile, setProfile] = useState<string | null>(null);
  const [policy, setPolicy] = useState<string | null>(null);
  const choices = useChoices(sourceRun);
  const checkRequests = checksOf(checks);
  const problem = checksProblem(checks);
  const request: SparseBisection = {
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
    enabled: ready && debouncedRequest.question === question,
  });
  const lastRequest = useRef({ text: "", key: "" });
  const start = useMutation({
    mutationFn: () => {
      const text = JSON.stringify(request);
      if (lastRequest.current.text !== text) lastRequest.current = { text, key: crypto.randomUUID() };
      return startBisection(subject, request, lastRequest.current.key);
    },
    onSuccess: (view) => void navigate(paths.bisection(view.id)),
    onError: (error) =>
      notifications.show({ title: "The bisection did not start", message: error.message, color: "red" }),
  });
  const isBlocked = !ready || plan.error !== null || (plan.data?.refusals.length ?? 1) > 0;
  return (
    <Modal
      opened
      onClose={onClose}
      title="Find the step where it went wrong"
      size="lg"
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <div className={classes.dialog}>
        <p className="muted">
          The run is forked at one step after another and continued with live answers, to find the last step from which
          it can still pass. Everything before a fork stays as recorded.
        </p>
        <Select
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
            label="Maximum live calls"
            placeholder="no limit"
            value={maxCalls ?? ""}
            min={1}
            allowDecimal={false}
            onChange={(value) => setMaxCalls(value === "" ? null : Number(value))}
          />
        </div>
        <div className={classes.fields}>
          <SavedSelect
            label="Changes in every probe"
            placeholder="none"
            choices={choices.profiles}
            onChange={setProfile}
          />
          <SavedSelect label="Policy" placeholder="default policy" choices={choices.policies} onChange={setPolicy} />
        </div>
        <div aria-live="polite" aria-busy={plan.isFetching}>
          {problem && <p className="failed">{problem}</p>}
          {!problem && missing && <p className="muted">{missing}</p>}
          {ready && plan.isFetching && !plan.data && <Loader size={12} role="img" aria-label="Planning" />}
          {ready && plan.error && <p className="failed">{plan.error.message}</p>}
          {ready && !plan.error && plan.data && <PlanSummary plan={plan.data} />}
        </div>
        <Button
          leftSection={<IconPlayerPlay size={14} />}
          data-disabled={isBlocked || undefined}
          aria-disabled={isBlocked}
          loading={start.isPending}
          onClick={() => {
            if (!isBlocked) start.mutate();
          }}
        >
          Bisect
        </Button>
      </div>
    </Modal>
  );
}

const QUESTIONS: { value: PassQuestion; label: string }[] = [
  { value: "check", label: "Your checks" },
  { value: "outcome", label: "The app's outcome rule" },
  { value: "judgement", label: "One judgement" },
];

/** What to enter before the cost can be estimated. Null if nothing is missing. */
function missingWords(question: PassQuestion, checks: number, choice: JudgementDraft): string | null {
  if (question === "check" && checks === 0) return "Add a check to see the estimated cost.";
  return question === "judgement" && !choice.judgement.trim() ? "Name the judgement to see the estimated cost." : null;
}

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

function PlanSummary({ plan }: { plan: BisectPlan }): ReactElement {
  if (plan.refusals.length > 0) {
    return (
      <ul className={classes.refusals} role="alert">
        {plan.refusals.map(({ detail }) => (
          <li key={detail} className="failed">
            {sentence(detail)}
          </li>
        ))}
      </ul>
    );
  }
  return (
    <dl className={classes.facts}>
      <dt>Steps to fork from</dt>
      <dd>{pluralize(plan.forks.length, "step")}</dd>
      <dt>Probes</dt>
      <dd>
        about {count(plan.probes)}, at most {count(plan.most_probes)}
      </dd>
      <dt>Live calls</dt>
      <dd>
        about {count(plan.live_calls)}, at most {count(plan.most_live_calls)}
      </dd>
      <dt>Cost</dt>
      <dd>
        {plan.cost_usd === null ? "unknown" : `about ${money(plan.cost_usd)}, at most ${money(plan.most_cost_usd)}`}
      </dd>
    </dl>
  );
}
