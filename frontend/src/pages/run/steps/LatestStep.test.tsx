import { fireEvent, screen } from "@testing-library/react";
import { createRef } from "react";
import { expect, test, vi } from "vitest";
import { aStep } from "@/testing/factories";
import { renderInApp } from "@/testing/render";
import { Selection } from "../selection";
import { LatestStep } from "./LatestStep";

const steps = [aStep({ sequence_no: 1 }), aStep({ sequence_no: 2 })];
const show = (number: number, onSelect = vi.fn()) =>
  renderInApp(
    <Selection number={number} selectedRef={createRef<number>()}>
      <LatestStep steps={steps} onSelect={onSelect} />
    </Selection>,
  );

test("a recording leads to its newest step", () => {
  const onSelect = vi.fn();
  show(1, onSelect);
  fireEvent.click(screen.getByRole("button", { name: "Latest step: 2" }));
  expect(onSelect).toHaveBeenCalledWith(2);
});

test("the newest step leads nowhere", () => {
  show(2);
  expect(screen.queryByRole("button")).toBeNull();
});
