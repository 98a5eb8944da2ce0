/** Replaces what must not be in a log, such as credentials, within one string. */
export type Mask = (text: string) => string;

/** The room that is left in a line; `isTruncated` once something was cut or left out. */
export type Room = { bytes: number; isTruncated: boolean; readonly mask: Mask };

/** A long string is shown by its beginning, two thirds, and its end: the frames of a stack follow the error's text. */
const STRING_CHARACTERS_MAX = 6_000;
const HEAD_SHARE = 2 / 3;

/** The longest credential, a private key of 4,096 bits in PEM: masked as a whole before a string is cut. */
const CREDENTIAL_CHARACTERS_MAX = 4_096;

const DEPTH_MAX = 5;
const ITEMS_MAX = 1_000;
/** Below this, no further entry is added. */
const ENTRY_BYTES_MIN = 256;
/** A number of 24 characters, and its punctuation. */
const NUMBER_BYTES_MAX = 28;

/** A copy of the value for JSON, masked, with no more of it than fits. Never throws, whatever its getters do. */
export function boundValue(value: unknown, room: Room): unknown {
  return safely(() => copyOf(value, room, 0), '…');
}

export function safely<Value, Otherwise>(read: () => Value, otherwise: Otherwise): Value | Otherwise {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

function copyOf(value: unknown, room: Room, depth: number): unknown {
  if (typeof value === 'string' || typeof value === 'bigint' || value instanceof Error) {
    return boundText(String(value), room);
  }
  if (typeof value !== 'object' || value === null) {
    // JSON has no undefined, functions or symbols: they are left out.
    return ['number', 'boolean', 'object'].includes(typeof value) ? value : undefined;
  }
  if (ArrayBuffer.isView(value) || depth > DEPTH_MAX) {
    room.isTruncated = true;
    return '…';
  }
  if ('toJSON' in value && typeof value.toJSON === 'function') {
    return copyOf(value.toJSON(), room, depth + 1);
  }
  const entries: (readonly [string, unknown])[] = [];
  for (const key of Object.keys(Array.isArray(value) ? value.slice(0, ITEMS_MAX) : value)) {
    if (room.bytes < ENTRY_BYTES_MIN) {
      room.isTruncated = true;
      break;
    }
    room.bytes -= NUMBER_BYTES_MAX;
    entries.push([boundText(key, room), safely(() => copyOf(value[key as keyof typeof value], room, depth + 1), '…')]);
  }
  const copied = entries.filter(([, copy]) => copy !== undefined);
  return Array.isArray(value) ? copied.map(([, copy]) => copy) : Object.fromEntries(copied);
}

/** Takes at most half of the room, so that a long string leaves some to what follows. */
function boundText(text: string, room: Room): string {
  room.isTruncated ||= text.length > STRING_CHARACTERS_MAX;
  let bounded = maskEnds(text, room.mask);
  while (bounded.length > STRING_CHARACTERS_MAX || (bytesOf(bounded) > room.bytes / 2 && bounded.length > 1)) {
    room.isTruncated = true;
    const keptMax = Math.floor(bounded.length * HEAD_SHARE);
    const headMax = Math.floor(keptMax * HEAD_SHARE);
    bounded = `${bounded.slice(0, headMax)}…${bounded.slice(bounded.length - (keptMax - headMax - 1))}`;
  }
  room.bytes -= bytesOf(bounded);
  return bounded.toWellFormed();
}

/** The masked text; of a long one, the ends. A credential that is cut is in the parts that are left out. */
function maskEnds(text: string, mask: Mask): string {
  const endMax = STRING_CHARACTERS_MAX + CREDENTIAL_CHARACTERS_MAX;
  if (text.length <= 2 * endMax) {
    return mask(text);
  }
  const head = mask(text.slice(0, endMax)).slice(0, -CREDENTIAL_CHARACTERS_MAX);
  return `${head}…${mask(text.slice(-endMax)).slice(CREDENTIAL_CHARACTERS_MAX)}`;
}

function bytesOf(text: string): number {
  return Buffer.byteLength(JSON.stringify(text));
}
