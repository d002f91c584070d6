// A plain cast for tests: whole values of the API's types, with what the test is about given.
import type { RunSummary, StepDetail, StepSummary } from "@/api/schema";

export function aRun(given: Partial<RunSummary> = {}): RunSummary {
  return {
    id: "run-1",
    external_id: "trace-1",
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
    tags: [],
    steps: 9,
    errors: 0,
    tokens_in: 900,
    tokens_out: 100,
    cost_usd: 0.01,
    duration_ms: 5000,
    labels: { live: 9, exact: 0, cached: 0, simulated: 0 },
    source_run: null,
    fork_sequence_no: null,
    session_id: null,
    ...given,
  };
}

export function aStep(given: Partial<StepSummary> & { sequence_no: number }): StepSummary {
  return {
    id: `step-${given.sequence_no}`,
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
    ...given,
  };
}

export function aStepDetail(given: Partial<StepDetail> & { sequence_no: number }): StepDetail {
  return {
    ...aStep(given),
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
    attributes: {},
    detail: {},
    consumed: [],
    produced_for: [],
    ...given,
  };
}
