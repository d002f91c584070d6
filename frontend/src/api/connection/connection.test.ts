import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Connection, RETRY_MS } from "./connection";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function answering(...answers: boolean[]) {
  const ask = vi.fn(() => Promise.resolve(answers.shift() ?? true));
  return { ask, connection: new Connection(ask) };
}

test("asks again until the server answers", async () => {
  const { ask, connection } = answering(false, false, true);
  let hasRecovered = false;
  void connection.recover().then(() => (hasRecovered = true));
  await vi.advanceTimersByTimeAsync(0);
  expect(connection.status()).toEqual({ reachable: false, nextTry: Date.now() + RETRY_MS });
  await vi.advanceTimersByTimeAsync(RETRY_MS);
  expect([connection.status().reachable, hasRecovered]).toEqual([false, false]);
  await vi.advanceTimersByTimeAsync(RETRY_MS);
  expect([connection.status().reachable, hasRecovered]).toEqual([true, true]);
  await vi.advanceTimersByTimeAsync(10 * RETRY_MS);
  expect(ask).toHaveBeenCalledTimes(3);
});

test("asks once for many failures, and at once when the user wants to", async () => {
  const { ask, connection } = answering(false, true);
  await Promise.all([connection.check(), connection.check(), connection.check()]);
  expect(ask).toHaveBeenCalledTimes(1);
  await connection.check();
  expect(connection.status().reachable).toBe(true);
});

test("stays quiet when a single request failed", async () => {
  const { connection } = answering(true);
  await connection.recover();
  expect(connection.status().reachable).toBe(true);
});
