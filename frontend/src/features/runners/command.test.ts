import { expect, test } from "vitest";
import { runnerCommand, shellWords } from "./command";

test("names the app and the server", () => {
  expect(runnerCommand("order-desk", "http://localhost:8000")).toBe(
    "forkpoint runner --app order-desk --url http://localhost:8000 -- python agent.py {input}",
  );
});

test("allows the tools that are named", () => {
  expect(runnerCommand("desk", "http://h", ["send_email", "say hello"])).toBe(
    "forkpoint runner --app desk --url http://h --allow-tool send_email --allow-tool 'say hello' -- python agent.py {input}",
  );
});

test("quotes what a shell would split or expand", () => {
  expect(runnerCommand("my desk", "http://h")).toContain("--app 'my desk' ");
  expect(shellWords(["python", "it's.py", "$HOME", ""])).toBe(`python 'it'"'"'s.py' '$HOME' ''`);
});
