import { screen, within } from "@testing-library/react";
import { expect, test } from "vitest";
import { VisitContext } from "@/features/share/visit";
import { aSession } from "@/testing/factories";
import { renderInApp } from "@/testing/render";
import { Result } from "./Result";

test("each answer that did not pass says why", () => {
  const session = aSession({
    outcome: "failed",
    outcome_reason: "the refund is over the limit",
    source_outcome: "passed",
    source_outcome_reason: "the refund fits",
    answer: "Refunded.",
  });
  renderInApp(
    <VisitContext value={{ token: "t", run: null, allowsComments: false }}>
      <Result session={session} steps={[]} />
    </VisitContext>,
  );
  expect(
    within(screen.getByRole("group", { name: "New answer" })).getByText("the refund is over the limit"),
  ).toBeTruthy();
  expect(screen.queryByText("the refund fits")).toBeNull();
});
