import { InspectionStopped } from '#shared/package/archive/package-problem.ts';

/**
 * Checks the blocks of a tar, before they are parsed, for what readers understand differently. tar-stream lists the
 * entries at intake, and Python's tarfile unpacks them on the VM: tarfile ends its list silently at a header that it
 * cannot read and at the first empty block, accepts other numbers, and applies long names and pax attributes in another
 * order. Only archives that both read alike pass; the common tools (GNU tar, bsdtar, Python, git) write no others.
 */
export type TarCheck = {
  /** Checks the next bytes. Throws InspectionStopped with ENTRY_MALFORMED. */
  check(chunk: Uint8Array): void;
  /** Called after the last byte. */
  finish(): void;
};

const BLOCK_BYTES = 512;
const LONG_BYTES_MAX = 1_048_576;

/** Offset and length of the fields of a header that are numbers (POSIX.1-2017, pax, "ustar Interchange Format"). */
const NUMBERS = {
  mode: [100, 8],
  uid: [108, 8],
  gid: [116, 8],
  mtime: [136, 12],
  checksum: [148, 8],
  major: [329, 8],
  minor: [337, 8],
};
const SIZE: Field = [124, 12];
const OCTAL = /^ *[0-7]*[ \0]*$/;
const PREFIX_AT = 345;
const GNU_MAGIC = 'ustar  \0';

type Field = readonly [offset: number, length: number];
/** A header that describes the entry after it: a long path, a long link target, pax attributes of it or of all. */
type LongType = 'L' | 'K' | 'x' | 'g';

export function createTarCheck(): TarCheck {
  const block = Buffer.alloc(BLOCK_BYTES);
  const state = createState();
  let filledBytes = 0;
  return {
    check(chunk) {
      let at = 0;
      while (at < chunk.length) {
        const skipped = Math.min(state.skipBytes, chunk.length - at);
        state.skipBytes -= skipped;
        at += skipped;
        const piece = chunk.subarray(at, at + BLOCK_BYTES - filledBytes);
        block.set(piece, filledBytes);
        filledBytes += piece.length;
        at += piece.length;
        if (filledBytes === BLOCK_BYTES) {
          filledBytes = 0;
          checkBlock(state, block);
        }
      }
    },
    finish() {
      if (state.pending.size > 0) {
        stop('ends with attributes of an entry that it does not have');
      }
    },
  };
}

type State = {
  /** Bytes of an entry's data, with their padding, before the next header. */
  skipBytes: number;
  hasEnded: boolean;
  readonly pending: Set<LongType>;
  /** The size that pax attributes give to the next entry. */
  sizeBytes: number | null;
  long: { readonly type: LongType; readonly sizeBytes: number; readonly blocks: Buffer[] } | null;
};

function createState(): State {
  return { skipBytes: 0, hasEnded: false, pending: new Set(), sizeBytes: null, long: null };
}

function checkBlock(state: State, block: Buffer): void {
  const { long } = state;
  if (long !== null) {
    long.blocks.push(Buffer.from(block));
    if (long.blocks.length * BLOCK_BYTES >= long.sizeBytes) {
      state.long = null;
      const body = Buffer.concat(long.blocks);
      if (body.subarray(long.sizeBytes).some((byte) => byte !== 0)) {
        stop('has attributes that are longer than stated');
      }
      checkLong(state, long.type, body.subarray(0, long.sizeBytes));
    }
  } else if (block.every((byte) => byte === 0)) {
    state.hasEnded = true;
  } else if (state.hasEnded) {
    stop('has data after its end');
  } else if (block.toString('latin1', 257, 262) === 'ustar') {
    // tar-stream rejects any other header.
    checkHeader(state, block);
  }
}

function checkHeader(state: State, block: Buffer): void {
  for (const [name, [offset = 0, length = 0]] of Object.entries(NUMBERS)) {
    readNumber(block, [offset, length], name);
  }
  const sizeBytes = readNumber(block, SIZE, 'size');
  const type = String.fromCharCode(block[156] ?? 0);
  if (type === 'N') {
    stop('has a long name of type N, which Python does not read');
  }
  if (type === 'L' || type === 'K' || type === 'x' || type === 'g') {
    openLong(state, type, sizeBytes);
    return;
  }
  checkName(block, type);
  state.pending.clear();
  state.skipBytes = type === '5' ? 0 : padded(state.sizeBytes ?? sizeBytes);
  state.sizeBytes = null;
}

/** tarfile takes an old file (type NUL) whose name ends with "/" for a directory, and a prefix in GNU's format for one. */
function checkName(block: Buffer, type: string): void {
  const [name = ''] = block.toString('latin1', 0, 100).split('\0');
  const hasPrefix = block[PREFIX_AT] !== 0;
  if (type === '\0' && name.endsWith('/')) {
    stop('has an entry that is a file or a directory');
  }
  if (hasPrefix && (name === '' || block.toString('latin1', 257, 265) === GNU_MAGIC)) {
    stop('has an entry with an ambiguous name');
  }
}

function openLong(state: State, type: LongType, sizeBytes: number): void {
  const { pending } = state;
  const isAmbiguous = type === 'x' || type === 'g' ? pending.size > 0 : pending.has(type) || pending.has('x');
  if (isAmbiguous) {
    stop('has several attributes for one entry, which readers apply in different order');
  }
  if (sizeBytes === 0 || sizeBytes > LONG_BYTES_MAX) {
    stop(`has attributes of ${sizeBytes} bytes; 1 to ${LONG_BYTES_MAX} are possible`);
  }
  state.long = { type, sizeBytes, blocks: [] };
  if (type !== 'g') {
    pending.add(type);
  }
}

function checkLong(state: State, type: LongType, body: Buffer): void {
  if (type === 'L' || type === 'K') {
    if (body[0] === 0) {
      stop('has an empty long name');
    }
    return;
  }
  for (const [key, value] of readPax(body)) {
    if (key === 'hdrcharset' || value === '' || (key === 'size' && !/^\d{1,15}$/.test(value))) {
      stop(`has the attribute ${JSON.stringify(key.slice(0, 50))}, whose value not all readers understand`);
    }
    // No legitimate tool writes such headers: git and others use them for comments and times.
    if (type === 'g' && /^(?:path|linkpath|size|GNU\.sparse\..*)$/.test(key)) {
      stop(`has a global header that sets "${key}" for all entries, which not all readers do`);
    }
    if (key === 'size') {
      state.sizeBytes = Number(value);
    }
  }
}

/** Records `LENGTH KEY=VALUE\n` (POSIX.1-2017, pax, "pax Extended Header"); LENGTH counts the whole record. */
function* readPax(body: Buffer): Generator<readonly [string, string]> {
  let at = 0;
  while (at < body.length) {
    const [, digits = '', key = ''] = /^([1-9]\d{0,6}) ([^=\n]+)=/.exec(body.toString('latin1', at, at + 300)) ?? [];
    const endAt = at + Number(digits);
    const valueAt = at + digits.length + 1 + key.length + 1;
    if (digits === '' || endAt <= valueAt - 1 || endAt > body.length || body[endAt - 1] !== 0x0a) {
      stop('has attributes in an invalid form');
    }
    yield [key, body.toString('latin1', valueAt, endAt - 1)];
    at = endAt;
  }
}

/** An octal number, or from the first byte 0x80 on a number with the base 256 (GNU tar, "Basic Tar Format"). */
function readNumber(block: Buffer, [offset, length]: Field, name: string): number {
  const field = block.subarray(offset, offset + length);
  const text = field.toString('latin1');
  if (OCTAL.test(text)) {
    return Number.parseInt(text.trim() || '0', 8);
  }
  const isNegative = field[0] === 0xff && name !== 'size';
  if (field[0] !== 0x80 && !isNegative) {
    stop(`has a header whose ${name} is not a number that all readers understand`);
  }
  const high = field.subarray(1, -6);
  if (high.some((byte) => byte !== (isNegative ? 0xff : 0))) {
    stop(`has a header whose ${name} is too large`);
  }
  return isNegative ? 0 : field.readUIntBE(length - 6, 6);
}

function padded(sizeBytes: number): number {
  return Math.ceil(sizeBytes / BLOCK_BYTES) * BLOCK_BYTES;
}

function stop(what: string): never {
  throw new InspectionStopped('ENTRY_MALFORMED', `The tar ${what}.`);
}
