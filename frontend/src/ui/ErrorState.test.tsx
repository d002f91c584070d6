import { screen } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import { ProblemError } from "@/api/problem";
import { renderInApp } from "@/testing/render";
import { ErrorState } from "./ErrorState";

const problem = { type: "about:blank", title: "Bad Request", where: "/kind", retryable: false, request_id: "r" };

test("offers another try only if it can help", () => {
  const badRequest = new ProblemError({
    ...problem,
    status: 400,
    code: "validation_error",
    detail: "there is no such kind",
  });
  renderInApp(<ErrorState error={badRequest} onRetry={vi.fn()} />);
  expect(screen.queryByRole("button")).toBeNull();
  const missing = new ProblemError({ ...problem, status: 404, code: "not_found", detail: "there is no such run" });
  renderInApp(<ErrorState error={missing} onRetry={vi.fn()} />);
  expect(screen.getByRole("button", { name: "Try again" })).toBeTruthy();
});

test("contradicts its advice with no button", () => {
  const large = { ...problem, status: 413, code: "payload_too_large", detail: "the body is too large" } as const;
  const { unmount } = renderInApp(<ErrorState error={new ProblemError(large)} onRetry={vi.fn()} />);
  expect(screen.getByText(/Trying again will not help/)).toBeTruthy();
  expect(screen.queryByRole("button")).toBeNull();
  unmount();
  // A fault of the server may be gone, which nobody can know.
  const fault = { ...problem, status: 500, code: "internal_error", detail: "the server failed" } as const;
  renderInApp(<ErrorState error={new ProblemError(fault)} onRetry={vi.fn()} />);
  expect(screen.queryByText(/will not help/)).toBeNull();
  expect(screen.getByRole("button", { name: "Try again" })).toBeTruthy();
});
