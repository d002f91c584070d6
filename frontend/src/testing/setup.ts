import { cleanup } from "@testing-library/react";
import { afterEach } from "vitest";

afterEach(cleanup);

// happy-dom has no font loading; text areas that grow with their text listen to it.
Object.defineProperty(document, "fonts", { value: new EventTarget(), configurable: true });
