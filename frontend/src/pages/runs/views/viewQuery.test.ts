// @vitest-environment happy-dom
import { afterEach, expect, test } from "vitest";
import { defaultViewSearch, storeDefaultView } from "./defaultView";
import { formatViewQuery, parseViewQuery } from "./viewQuery";

afterEach(() => window.localStorage.clear());

test("a query has one form and keeps its values", () => {
  const search = { sort: "-cost", app: "desk & co", tag: "a,b", min_cost: 0.5, columns: "app,cost" };
  const query = formatViewQuery(search);
  expect(query).toBe(
    formatViewQuery({ tag: "a,b", min_cost: 0.5, columns: "app,cost", app: "desk & co", sort: "-cost" }),
  );
  expect(parseViewQuery(query)).toEqual(search);
});

test("unknown parameters of a query are ignored", () => {
  expect(parseViewQuery("app=desk&colour=red&min_cost=x")).toEqual({ app: "desk" });
});

test("a browser has at most one default view", () => {
  expect(defaultViewSearch()).toBeNull();
  storeDefaultView("app=desk");
  expect(defaultViewSearch()).toEqual({ app: "desk" });
  storeDefaultView(null);
  expect(defaultViewSearch()).toBeNull();
});
