import { expect, test } from "vitest";
import { droppedFiles, pickedFiles } from "./chosenFiles";

type Tree = { readonly [name: string]: Tree | string };

/** An entry as a browser gives it: the children of a folder come in parts of two. */
function entryOf(name: string, content: Tree | string, folder = ""): FileSystemEntry {
  const fullPath = `${folder}/${name}`;
  if (typeof content === "string") {
    const file = new File([content], name);
    return { name, fullPath, isDirectory: false, file: (resolve: (file: File) => void) => resolve(file) } as never;
  }
  const createReader = () => {
    const children = Object.entries(content).map(([child, inner]) => entryOf(child, inner, fullPath));
    return { readEntries: (resolve: (part: FileSystemEntry[]) => void) => resolve(children.splice(0, 2)) };
  };
  return { name, fullPath, isDirectory: true, createReader } as never;
}

const itemOf = (entry: FileSystemEntry | null, file: File | null = null) =>
  ({ webkitGetAsEntry: () => entry, getAsFile: () => file }) as never as DataTransferItem;

test("reads the folders of a drop to the end, without hidden files", async () => {
  const folder = {
    ".DS_Store": "x",
    a: { "events.json": "1" },
    b: { "events.json": "2", ".git": { HEAD: "x" } },
    c: {},
  };
  const files = await droppedFiles([itemOf(entryOf("runs", folder)), itemOf(entryOf("log", "3")), itemOf(null)]);
  expect(files.map(({ path }) => path)).toEqual(["runs/a/events.json", "runs/b/events.json", "log"]);
  expect(await files[1]?.file.text()).toBe("2");
});

test("fails if an entry cannot be read", async () => {
  const lockedFile = {
    isDirectory: false,
    file: (_: unknown, fail: (error: Error) => void) => fail(new Error("locked")),
  };
  await expect(droppedFiles([itemOf(lockedFile as never)])).rejects.toThrow("locked");
});

test("takes a file without an entry, and no text", async () => {
  const files = await droppedFiles([itemOf(null, new File(["1"], "run.json")), itemOf(null)]);
  expect(files.map(({ path }) => path)).toEqual(["run.json"]);
});

test("a picked file has its name", () => {
  expect(pickedFiles([new File(["1"], "run.json")]).map(({ path }) => path)).toEqual(["run.json"]);
});
