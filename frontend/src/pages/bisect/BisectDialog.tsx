import { Button, Loader, Modal, NumberInput, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { IconPlayerPlay } from "@tabler/icons-react";
import { useRef, useState, type ReactElement } from "react";
import { bisectionPlanQuery, startBisection, type Bisected, type SparseBisection } from "@/api/bisections";
import type { BisectPlan } from "@/api/schema";
import { ChecksEditor } from "@/components/checks/ChecksEditor";
import { checksOf, checksProblem, type CheckDraft } from "@/components/checks/draft";
import { count, counted, money } from "@/components/format";
import { modelOf } from "@/pages/experiments/draft";
import { sentence } from "@/pages/run/fork/words";
import { paths } from "@/paths";
import classes from "./Bisect.module.css";

/** What must hold, how often each step is tried, and the price of it all before anything runs. */
export function BisectDialog({ subject, onClose }: { subject: Bisected; onClose: () => void }): ReactElement {
  const navigate = useNavigate();
  const [checks, setChecks] = useState<CheckDraft[]>([{ kind: "contains", text: "" }]);
  const [samples, setSamples] = useState(3);
  const [maxCalls, setMaxCalls] = useState<number | null>(null);
  const [model, setModel] = useState("");
  const said = checksOf(checks);
  const problem = checksProblem(checks);
  const request: SparseBisection = {
    checks: said,
    samples,
    reproduce: samples,
    confirm: Math.max(samples, 5),
    ...(model.trim() && { overrides: { overrides: [inOtherWords(model)] } }),
    ...(maxCalls !== null && { budget: { max_live_calls: maxCalls } }),
  };
  const [settled] = useDebouncedValue(request, 300);
  const ready = problem === null && said.length > 0;
  const plan = useQuery({ ...bisectionPlanQuery(subject, settled), enabled: ready && settled.checks.length > 0 });
  const sent = useRef({ text: "", key: "" });
  const start = useMutation({
    mutationFn: () => {
      const text = JSON.stringify(request);
      if (sent.current.text !== text) sent.current = { text, key: crypto.randomUUID() };
      return startBisection(subject, request, sent.current.key);
    },
    onSuccess: (view) => void navigate(paths.bisection(view.id)),
    onError: (error) =>
      notifications.show({ title: "The bisection did not start", message: error.message, color: "red" }),
  });
  const blocked = !ready || plan.error !== null || (plan.data?.refusals.length ?? 1) > 0;
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
          The run is forked at one step after another and answered afresh from there, until it is known from which step
          on it still passes and from which it does not any more. What lies before a fork is the recording.
        </p>
        <h3>A good run</h3>
        <ChecksEditor checks={checks} onChange={setChecks} />
        <div className={classes.fields}>
          <NumberInput
            label="Samples of each step"
            value={samples}
            min={1}
            max={20}
            allowDecimal={false}
            onChange={(value) => setSamples(Number(value) || 1)}
          />
          <TextInput
            label="Model that answers afresh"
            placeholder="as recorded"
            value={model}
            onChange={(event) => setModel(event.currentTarget.value)}
          />
          <NumberInput
            label="Live calls at most"
            placeholder="no limit"
            value={maxCalls ?? ""}
            min={1}
            allowDecimal={false}
            onChange={(value) => setMaxCalls(value === "" ? null : Number(value))}
          />
        </div>
        <div aria-live="polite" aria-busy={plan.isFetching}>
          {problem && <p className="failed">{problem}</p>}
          {!problem && said.length === 0 && <p className="muted">Say what a good run does, to see the price.</p>}
          {ready && plan.isFetching && !plan.data && <Loader size={12} aria-label="Planning" />}
          {ready && plan.error && <p className="failed">{plan.error.message}</p>}
          {ready && !plan.error && plan.data && <Outlook plan={plan.data} />}
        </div>
        <Button
          leftSection={<IconPlayerPlay size={14} />}
          data-disabled={blocked || undefined}
          aria-disabled={blocked}
          loading={start.isPending}
          onClick={() => {
            if (!blocked) start.mutate();
          }}
        >
          Bisect
        </Button>
      </div>
    </Modal>
  );
}

/** "local: large-1" names the provider too. The repeats from the start keep the recorded model. */
function inOtherWords(text: string): object {
  const { provider, model } = modelOf(text);
  return { match: { type: "model" }, model: { ...(provider && { provider }), model } };
}

function Outlook({ plan }: { plan: BisectPlan }): ReactElement {
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
      <dt>Steps to answer afresh from</dt>
      <dd>{counted(plan.forks.length, "step")}</dd>
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
