import { expect, test } from "vitest";
import type { RunnerView } from "@/api/schema";
import { runnersWords } from "./wording";

const aRunner = (more: Partial<RunnerView> = {}): RunnerView => ({
  id: "1",
  app: "desk",
  name: "desk-1",
  command: ["python", "agent.py", "{input}"],
  host: "laptop",
  allowed_tools: [],
  hook_tools: [],
  env_allow: [],
  network: "",
  state: "online",
  capacity: 1,
  busy: 0,
  last_seen_at: "2026-11-21T10:00:00Z",
  ...more,
});

test("names the only runner, or counts them", () => {
  expect(runnersWords([aRunner()])).toBe("desk-1 on laptop");
  expect(runnersWords([aRunner({ host: "desk-1" })])).toBe("desk-1");
  expect(runnersWords([aRunner(), aRunner({ id: "2" })])).toBe("One of 2 runners");
});

test("says that a busy runner starts the agent later", () => {
  expect(runnersWords([aRunner({ busy: 1 })])).toBe("desk-1 on laptop (busy: the replay waits)");
});
