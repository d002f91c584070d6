import { expect, test } from "vitest";
import { CLIENTS } from "./clients";

const linesOf = (id: string, token: string | null) =>
  CLIENTS.find((client) => client.id === id)
    ?.lines({ url: "http://host:8700", token })
    .join("\n") ?? "";

test("every client is pointed at this server", () => {
  for (const client of CLIENTS)
    expect(linesOf(client.id, "fp_secret")).toMatch(/http:\/\/(krabs:fp_secret@)?host:8700/);
});

test("every variable has a line, so that no line is cut off", () => {
  for (const client of CLIENTS)
    for (const line of client.lines({ url: "http://host:8700", token: "fp_secret" }))
      expect(line).not.toMatch(/export .*(export|&&|[A-Z]=.*[A-Z]=)/);
});

test("every client sends the token", () => {
  for (const client of CLIENTS) expect(linesOf(client.id, "fp_secret")).toContain("fp_secret");
});

test("tokens are left out where the server needs none", () => {
  for (const client of CLIENTS) expect(linesOf(client.id, null)).not.toMatch(/null|undefined|token=""/);
  expect(linesOf("sdk", null)).toBe('import forkpoint\nforkpoint.init(app="my-agent", url="http://host:8700")');
});

test("headers of OpenTelemetry encode the space of the token", () => {
  expect(linesOf("otel", "fp_secret")).toContain('"Authorization=Bearer%20fp_secret"');
});

test("clients that insist on a key have one", () => {
  expect(linesOf("langfuse", null)).toContain("LANGFUSE_SECRET_KEY=local");
  expect(linesOf("langsmith", null)).toContain("LANGSMITH_API_KEY=local");
});
