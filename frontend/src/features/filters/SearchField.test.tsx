import { act, fireEvent, screen } from "@testing-library/react";
import { useState, type ReactElement } from "react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { renderInApp } from "@/testing/render";
import { SearchField } from "./SearchField";

const queries: string[] = [];

function Page(): ReactElement {
  const [q, setQ] = useState("");
  return (
    <>
      <SearchField
        label="Search runs"
        placeholder="Search"
        ref={null}
        className=""
        value={q}
        onChange={(text) => {
          queries.push(text);
          setQ(text);
        }}
      />
      <button onClick={() => setQ("")}>Clear</button>
    </>
  );
}
const field = () => screen.getByLabelText<HTMLInputElement>("Search runs");
const type = (text: string) => fireEvent.change(field(), { target: { value: text } });
const wait = (ms: number): void => {
  act(() => {
    vi.advanceTimersByTime(ms);
  });
};

beforeEach(() => {
  vi.useFakeTimers();
  queries.length = 0;
});
afterEach(() => vi.useRealTimers());

test("debounces typing into one query", () => {
  renderInApp(<Page />);
  for (const text of ["l", "la", "lam", "lamp"]) type(text);
  wait(200);
  expect(queries).toEqual(["lamp"]);
});

test("an earlier result does not undo typing", () => {
  renderInApp(<Page />);
  type("la");
  wait(200);
  type("lam");
  expect(field().value).toBe("lam");
  wait(200);
  expect([field().value, queries]).toEqual(["lam", ["la", "lam"]]);
});

test("clearing the filters empties the field", () => {
  renderInApp(<Page />);
  type("lamp");
  wait(200);
  fireEvent.click(screen.getByText("Clear"));
  expect(field().value).toBe("");
});
