// Files that a user drops or picks. Folders tell which of them belong together.

export interface ChosenFile {
  /** Below what was dropped, with folders. */
  path: string;
  file: File;
}

/** The files of a drop, also those in its folders, without hidden ones. Call it during the event. */
export async function droppedFiles(items: Iterable<DataTransferItem>): Promise<ChosenFile[]> {
  // The browser forgets the items after the event. A file that is dragged out of a page has no entry.
  const contents = [...items].map((item) => item.webkitGetAsEntry() ?? item.getAsFile());
  const groups = await Promise.all(contents.map(async (content) => await filesOf(content)));
  return groups.flat();
}

async function filesOf(content: FileSystemEntry | File | null): Promise<ChosenFile[]> {
  if (content === null) return [];
  return content instanceof File ? pickedFiles([content]) : await filesIn(content);
}

/** The files of a file picker. */
export function pickedFiles(files: Iterable<File>): ChosenFile[] {
  return [...files].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
}

async function filesIn(entry: FileSystemEntry): Promise<ChosenFile[]> {
  if (isFolder(entry)) {
    const groups: ChosenFile[][] = [];
    // One after the other: a browser limits how many files are open.
    for (const child of await childrenOf(entry)) {
      if (!child.name.startsWith(".")) groups.push(await filesIn(child));
    }
    return groups.flat();
  }
  const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
  return [{ path: entry.fullPath.replace(/^\/+/, ""), file }];
}

function isFolder(entry: FileSystemEntry): entry is FileSystemDirectoryEntry {
  return entry.isDirectory;
}

async function childrenOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const children: FileSystemEntry[] = [];
  for (;;) {
    // A part of them at a time, and none after the last part.
    const part = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (part.length === 0) return children;
    children.push(...part);
  }
}
