import { fireEvent, screen } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import type { EdgeView, StepDetail } from "@/api/schema";
import { renderInApp } from "@/testing/render";
import { Provenance } from "./Provenance";

const edge = (step: number, kind: EdgeView["kind"], evidence: string): EdgeView => ({
  step,
  step_id: `id-${step}`,
  type: "prompt",
  name: "desk.system",
  kind,
  evidence,
  consumer_path: "",
  producer_path: "",
});

test("names a step once, with all that is known of how it is connected", () => {
  const onSelect = vi.fn();
  const edges = [edge(3, "link", "linked"), edge(3, "text", "two texts"), edge(3, "text", "three texts")];
  renderInApp(<Provenance step={{ consumed: [], produced_for: edges } as unknown as StepDetail} onSelect={onSelect} />);
  expect(screen.getByText("link in the recording, contains its text").title).toBe("linked\ntwo texts\nthree texts");
  fireEvent.click(screen.getByRole("button"));
  expect(onSelect).toHaveBeenCalledWith(3);
});
