import { screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { renderInApp } from "@/testing/render";
import { RedactionReasons } from "./MarkedText";
import { TextView } from "./TextView";

test("a redacted value is marked with its kind, and the text around it stays", () => {
  const text = "key [redacted:order-id:0123456789abcdef], please";
  renderInApp(
    <RedactionReasons value={{ "order-id": "order ids stay with us" }}>
      <TextView text={text} />
    </RedactionReasons>,
  );
  expect(screen.getByText("order-id")).not.toBeNull();
  expect(screen.getByLabelText("Redacted")).not.toBeNull();
  expect(screen.queryByText(/0123456789abcdef/)).toBeNull();
  expect(screen.getByText(/please/)).not.toBeNull();
});
