import { ENVIRONMENT_FILE, EXCLUDED_NAME, SOURCE_FILES_MAX } from '#shared/package/source-names.ts';

/** A file with its path below what was dropped or chosen: `digits/trainer/task.py`. */
export type ChosenFile = { readonly path: string; readonly file: File };

/** The files that will be uploaded: an archive as it is, or files to pack. */
export type Chosen =
  | { readonly kind: 'ARCHIVE'; readonly file: File }
  | { readonly kind: 'FILES'; readonly name: string; readonly files: readonly ChosenFile[] };

const ARCHIVE_NAME = /\.(tar\.gz|tgz|tar|zip|whl|tar\.bz2|tbz2?|tar\.xz|txz|tar\.zst)$/i;

/** Thrown with a sentence for the user. */
export class UnusableFilesError extends Error {}

/** Files from an input: a folder if their paths have one. */
export function chooseFiles(files: readonly File[]): Chosen {
  const chosen = files.map((file) => ({
    path: file.webkitRelativePath === '' ? file.name : file.webkitRelativePath,
    file,
  }));
  return arrange(chosen);
}

/** Files and folders of a drop. Must be called within the event: the browser forgets what was dropped after it. */
export async function readDropped({ items }: DataTransfer): Promise<Chosen> {
  const entries = [...items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  const files: ChosenFile[] = [];
  for (const entry of entries) {
    await addEntry(files, entry, entry.name);
  }
  return arrange(files);
}

/** Leaves out what `dropforge jobs submit` leaves out, and names the package. */
function arrange(all: readonly ChosenFile[]): Chosen {
  const [first, ...others] = all;
  if (first === undefined) {
    throw new UnusableFilesError('Nothing to upload was found. Drop an archive, or a folder with files.');
  }
  if (others.length === 0 && !first.path.includes('/') && ARCHIVE_NAME.test(first.path)) {
    return { kind: 'ARCHIVE', file: first.file };
  }
  const environments = all
    .filter(({ path }) => path.endsWith(`/${ENVIRONMENT_FILE}`))
    .map(({ path }) => path.slice(0, -ENVIRONMENT_FILE.length));
  const kept = all.filter(({ path }) => {
    // The folder that the user chose is meant, whatever its name is.
    const [, ...names] = path.includes('/') ? path.split('/') : ['', path];
    const isExcluded = names.some((name) => EXCLUDED_NAME.test(name));
    return !isExcluded && !environments.some((folder) => path.startsWith(folder));
  });
  if (kept.length === 0) {
    throw new UnusableFilesError('All files are hidden files or caches, which are left out.');
  }
  if (kept.length > SOURCE_FILES_MAX) {
    throw new UnusableFilesError(
      `There are ${kept.length} files; a package may have ${SOURCE_FILES_MAX}. Put training data into a bucket.`,
    );
  }
  return toPackage(kept);
}

/** A folder is packed without its name, unless it is itself a Python package. */
function toPackage(files: readonly ChosenFile[]): Chosen {
  const roots = new Set(files.map(({ path }) => (path.includes('/') ? path.slice(0, path.indexOf('/')) : '')));
  const [root = ''] = roots;
  const isFolder = roots.size === 1 && root !== '';
  const isPythonPackage = files.some(({ path }) => path === `${root}/__init__.py`);
  const placed =
    isFolder && !isPythonPackage ? files.map(({ path, file }) => ({ path: path.slice(root.length + 1), file })) : files;
  const sorted = [...placed].sort((one, other) => (one.path < other.path ? -1 : 1));
  return { kind: 'FILES', name: isFolder ? root : (files[0]?.path.replace(/\.\w+$/, '') ?? 'package'), files: sorted };
}

async function addEntry(files: ChosenFile[], entry: FileSystemEntry, path: string): Promise<void> {
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    files.push({ path, file });
    return;
  }
  // Hidden folders and caches can be large: they are not even listed.
  const isChosenItself = path === entry.name;
  if ((EXCLUDED_NAME.test(entry.name) && !isChosenItself) || files.length > SOURCE_FILES_MAX) {
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  for (;;) {
    const batch = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (batch.length === 0) {
      return;
    }
    for (const child of batch) {
      await addEntry(files, child, `${path}/${child.name}`);
    }
  }
}
