import { QueryClient } from "@tanstack/react-query";
import { expect, test, vi } from "vitest";
import { ProblemError } from "@/api/problem";
import type { Problem } from "@/api/schema";
import { onLoginExpired } from "./loginExpiry";

async function failWith(code: Problem["code"]): Promise<number> {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const onExpire = vi.fn();
  onLoginExpired(client, onExpire);
  const problem: Problem = {
    type: "about:blank",
    title: "",
    status: 401,
    code,
    detail: "",
    where: "",
    retryable: false,
    request_id: "",
  };
  const call = client.query({ queryKey: ["x"], queryFn: () => Promise.reject(new ProblemError(problem)) });
  await expect(call).rejects.toThrow();
  return onExpire.mock.calls.length;
}

test("asks for login only after expiry", async () => {
  expect(await failWith("auth_required")).toBe(1);
  expect(await failWith("auth_forbidden")).toBe(0);
});
