import { cleanup } from "@testing-library/react";
import { afterEach } from "vitest";

afterEach(cleanup);

// happy-dom has no font loading, which autosizing text areas listen to.
Object.defineProperty(document, "fonts", { value: new EventTarget(), configurable: true });
