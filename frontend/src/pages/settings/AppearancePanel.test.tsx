import { fireEvent, screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { renderInApp } from "@/testing/render";
import { AppearancePanel } from "./AppearancePanel";

test("the chosen colours replace those of the system", () => {
  renderInApp(<AppearancePanel />);
  fireEvent.click(screen.getByRole("radio", { name: "Dark" }));
  expect(document.documentElement.dataset["mantineColorScheme"]).toBe("dark");
  fireEvent.click(screen.getByRole("radio", { name: "Light" }));
  expect(document.documentElement.dataset["mantineColorScheme"]).toBe("light");
});
