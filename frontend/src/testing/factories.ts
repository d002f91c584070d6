// Complete test values of the API's types, with overrides.
import type { RunSummary, SessionView, StepDetail, StepSummary, TranscriptStep, Turn } from "@/api/schema";

export function aRun(overrides: Partial<RunSummary> = {}): RunSummary {
  return {
    id: "run-1",
    title: "",
    note: "",
    change: null,
    answer: "",
    source_outcome: null,
    source_answer: null,
    external_id: "trace-1",
    revision: 1,
    name: "Refund for order A-1042",
    app: "order-desk",
    environment: "",
    source: "import",
    format: "chat",
    status: "completed",
    outcome: "unknown",
    outcome_basis: null,
    outcome_reason: "",
    started_at: "2026-05-01T10:00:00Z",
    ended_at: "2026-05-01T10:00:05Z",
    created_at: "2026-05-01T10:00:06Z",
    sealed: true,
    is_pinned: false,
    is_held: false,
    tags: [],
    steps: 9,
    errors: 0,
    tokens_in: 900,
    tokens_out: 100,
    cost_usd: 0.01,
    duration_ms: 5000,
    model: "",
    labels: { live: 9, exact: 0, cached: 0, simulated: 0 },
    source_run: null,
    fork_sequence_no: null,
    session_id: null,
    ...overrides,
  };
}

export function aStep(overrides: Partial<StepSummary> & { sequence_no: number }): StepSummary {
  return {
    id: `step-${overrides.sequence_no}`,
    parent: null,
    type: "model",
    name: "model",
    summary: "",
    status: "ok",
    label: "live",
    reason: "",
    offset_ms: null,
    duration_ms: null,
    provider: "",
    model: "",
    tool_name: "",
    tokens_in: null,
    tokens_out: null,
    cost_usd: null,
    retries: 0,
    source_step: null,
    ...overrides,
  };
}

export function aStepDetail(overrides: Partial<StepDetail> & { sequence_no: number }): StepDetail {
  return {
    ...aStep(overrides),
    run: "run-1",
    external_id: "",
    started_at: null,
    error: "",
    signature: "",
    call_id: "",
    tokens_cached: null,
    input: null,
    output: null,
    input_ref: "",
    output_ref: "",
    unavailable: [],
    lost: [],
    inherited_messages: 0,
    redactions: {},
    attributes: {},
    detail: {},
    consumed: [],
    produced_for: [],
    ...overrides,
  };
}

export function aSession(overrides: Partial<SessionView> = {}): SessionView {
  return {
    id: "s1",
    status: "running",
    source_run: "r1",
    source_name: "Refund",
    source_outcome: "failed",
    source_answer: "I am sorry.",
    title: "",
    note: "",
    change: { text: "m1 → m2", target: "model", count: 1 },
    answer: "",
    run: "r2",
    outcome: null,
    diff: null,
    fork_sequence_no: 3,
    overrides: { overrides: [] },
    overrides_digest: "d1",
    policy: {} as SessionView["policy"],
    policy_digest: "p1",
    counts: { live: 0, exact: 2, cached: 0, simulated: 0 },
    planned_steps: 9,
    resolved_steps: 2,
    current: "",
    cost_usd: null,
    live_calls: 0,
    replay_type: "A",
    determinism: { score: null, factors: {}, threshold: 0.8, critical_changes: [], other_changes: [] },
    divergences: [],
    unused_calls: [],
    question: null,
    error_code: "",
    error: "",
    error_sequence_no: null,
    takeovers: [],
    created_at: "2026-11-21T10:00:00Z",
    started_at: null,
    ended_at: null,
    ...overrides,
  };
}

export function aTurn(overrides: Partial<Turn> = {}): Turn {
  return {
    role: "",
    name: "",
    text: { text: "", length: 0 },
    is_json: false,
    thinking: { text: "", length: 0 },
    calls: [],
    blocks: [],
    documents: [],
    ...overrides,
  };
}

export function turnsOf(overrides: Partial<TranscriptStep> & { sequence_no: number }): TranscriptStep {
  return {
    incoming: [],
    more_incoming: 0,
    content: null,
    repeats: null,
    error: { text: "", length: 0 },
    losses: [],
    ...overrides,
  };
}
