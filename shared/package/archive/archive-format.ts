import {
  InspectionStopped,
  type PackageProblemCode,
  packageProblem,
  printablePath,
} from '#shared/package/archive/package-problem.ts';
import type { Problem } from '#shared/protocol/problem.ts';

/** The formats of a package; `py` and `txt` are single files, a program and a requirements file. */
export type ArchiveFormat = 'tar.gz' | 'tar' | 'zip' | 'whl' | 'py' | 'txt';

/** Includes the magic of a tar, at byte 257 of its first header (POSIX.1-2017, pax, "ustar interchange format"). */
export const FORMAT_HEAD_BYTES = 512;

/** The file name extensions for which pip unpacks each format (pip, `utils/filetypes.py`). */
const EXTENSIONS: Readonly<Record<ArchiveFormat, readonly string[]>> = {
  'tar.gz': ['.tar.gz', '.tgz'],
  tar: ['.tar'],
  zip: ['.zip'],
  whl: ['.whl'],
  py: ['.py'],
  txt: ['.txt'],
};

type Magic = { readonly name: string; readonly offset: number; readonly bytes: readonly number[] };

const UNSUPPORTED: readonly Magic[] = [
  { name: 'bzip2', offset: 0, bytes: [0x42, 0x5a, 0x68] },
  { name: 'xz', offset: 0, bytes: [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00] },
  { name: 'Zstandard', offset: 0, bytes: [0x28, 0xb5, 0x2f, 0xfd] },
  { name: '7-Zip', offset: 0, bytes: [0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c] },
  { name: 'RAR', offset: 0, bytes: [0x52, 0x61, 0x72, 0x21, 0x1a, 0x07] },
];
const GZIP: Magic = { name: 'gzip', offset: 0, bytes: [0x1f, 0x8b] };
const USTAR: Magic = { name: 'tar', offset: 257, bytes: [0x75, 0x73, 0x74, 0x61, 0x72] };
const ZIP: Magic = { name: 'zip', offset: 0, bytes: [0x50, 0x4b, 0x03, 0x04] };
const ZIP_WITHOUT_ENTRIES: Magic = { name: 'zip', offset: 0, bytes: [0x50, 0x4b, 0x05, 0x06] };

/**
 * Detects the format from the first bytes; a zip is a wheel, and a text is a program or a requirements file, if its
 * name says so. Throws InspectionStopped for an unsupported format.
 */
export function detectFormat(name: string, head: Uint8Array): ArchiveFormat {
  if (hasMagic(head, GZIP)) {
    return 'tar.gz';
  }
  if (hasMagic(head, USTAR)) {
    return 'tar';
  }
  if (hasMagic(head, ZIP)) {
    return name.toLowerCase().endsWith('.whl') ? 'whl' : 'zip';
  }
  if (isSingleFileName(name) && isText(Buffer.from(head).toString('utf8'))) {
    return name.endsWith('.py') ? 'py' : 'txt';
  }
  if (/\.ipynb$/i.test(name)) {
    throw new InspectionStopped('NOTEBOOK', `${printablePath(name)} is a notebook; jobs run Python programs.`);
  }
  const [code, reason] = describeOther(head);
  throw new InspectionStopped(code, `${printablePath(name)} ${reason}.`);
}

/** Whether an object is named as a package of one file: a Python program, or requirements for pip. */
export function isSingleFileName(name: string): boolean {
  return /\.py$|(?:^|\/)requirements[\w.-]*\.txt$/.test(name);
}

/** pip selects the format by file name: a tar file named .tar.gz cannot be installed. */
export function checkExtension(name: string, format: ArchiveFormat): Problem | null {
  const extensions = EXTENSIONS[format];
  if (extensions.some((extension) => name.toLowerCase().endsWith(extension))) {
    return null;
  }
  const message = `${printablePath(name)} is a ${format} archive, but its name does not end in ${extensions.join(' or ')}.`;
  return packageProblem('FORMAT_NAME_MISMATCH', message);
}

function describeOther(head: Uint8Array): [PackageProblemCode, string] {
  if (head.length === 0) {
    return ['ARCHIVE_EMPTY', 'is empty'];
  }
  if (hasMagic(head, ZIP_WITHOUT_ENTRIES)) {
    return ['ARCHIVE_EMPTY', 'is a zip archive without entries'];
  }
  const unsupported = UNSUPPORTED.find((magic) => hasMagic(head, magic));
  if (unsupported !== undefined) {
    return ['FORMAT_UNSUPPORTED', `is compressed with ${unsupported.name}, which is not supported`];
  }
  if (head.every((byte) => byte === 0)) {
    return ['ARCHIVE_EMPTY', 'is a tar archive without entries, or contains only zeros'];
  }
  const text = Buffer.from(head).toString('utf8');
  if (/^\s*<(?:!doctype html|html|head|\?xml)/i.test(text)) {
    return ['NOT_AN_ARCHIVE', 'is a web page, not an archive (for example the sign-in page of a failed download)'];
  }
  return [
    'NOT_AN_ARCHIVE',
    isText(text) ? 'is a text file, not an archive' : 'is not an archive in a supported format',
  ];
}

function hasMagic(head: Uint8Array, { offset, bytes }: Magic): boolean {
  return bytes.every((byte, index) => head[offset + index] === byte);
}

/** Ignores the end, where the bytes of a character may be missing. */
function isText(text: string): boolean {
  return !/[^\P{Cc}\t\n\f\r]|\uFFFD/u.test(text.replace(/\uFFFD{1,3}$/, '').slice(0, -1));
}
