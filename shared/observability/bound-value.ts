/** Replaces what must not be in a log, such as credentials, within one string. */
export type Mask = (text: string) => string;

/** What is left of a line; `isTruncated` once something was cut or left out. */
export type Room = { bytes: number; isTruncated: boolean };

/** Of a long string, two thirds are its beginning and one is its end: the frames of a stack follow the error's text. */
const STRING_CHARACTERS_MAX = 6_000;
const HEAD_SHARE = 2 / 3;

/** The longest credential, a private key of 4,096 bits in PEM: masked as a whole before a string is cut. */
const CREDENTIAL_CHARACTERS_MAX = 4_096;

const DEPTH_MAX = 5;
const ITEMS_MAX = 1_000;

/** A number of 24 characters, and its punctuation. */
const NUMBER_BYTES_MAX = 28;

/** Below this, no further entry is added. */
const ENTRY_BYTES_MIN = 256;

/** Neither of these reads more of a value than fits into the room, and neither throws, whatever getters do. */
export function boundFields(fields: object, room: Room, mask: Mask): Readonly<Record<string, unknown>> {
  return Object(boundSafely(() => boundEntries(fields, { room, mask, depth: 0 })));
}

/** The string, masked and well-formed; at most half of the room, so that a long one leaves some to those that follow. */
export function boundText(text: string, room: Room, mask: Mask): string {
  let bounded = condense(text, mask).toWellFormed();
  room.isTruncated ||= text.length > STRING_CHARACTERS_MAX;
  const bytesMax = room.bytes / 2;
  while (jsonBytesOf(bounded) > bytesMax && bounded.length > 1) {
    room.isTruncated = true;
    bounded = joinEnds(bounded, bounded, Math.floor(bounded.length * HEAD_SHARE)).toWellFormed();
  }
  room.bytes -= jsonBytesOf(bounded);
  return bounded;
}

type Context = { readonly room: Room; readonly mask: Mask; readonly depth: number };

function condense(text: string, mask: Mask): string {
  if (text.length <= STRING_CHARACTERS_MAX + 2 * CREDENTIAL_CHARACTERS_MAX) {
    const masked = mask(text);
    return masked.length <= STRING_CHARACTERS_MAX ? masked : joinEnds(masked, masked, STRING_CHARACTERS_MAX);
  }
  // A credential that is cut here is in the part of the masked text that is left out.
  const charactersMax = STRING_CHARACTERS_MAX + CREDENTIAL_CHARACTERS_MAX;
  const head = mask(text.slice(0, charactersMax)).slice(0, -CREDENTIAL_CHARACTERS_MAX);
  const tail = mask(text.slice(-charactersMax)).slice(CREDENTIAL_CHARACTERS_MAX);
  return joinEnds(head, tail, STRING_CHARACTERS_MAX);
}

function joinEnds(head: string, tail: string, charactersMax: number): string {
  const headMax = Math.floor(charactersMax * HEAD_SHARE);
  return `${head.slice(0, headMax)}…${tail.slice(Math.max(0, tail.length - (charactersMax - headMax - 1)))}`;
}

function boundValue(value: unknown, { room, mask, depth }: Context): unknown {
  if (typeof value === 'string' || typeof value === 'bigint') {
    return boundText(String(value), room, mask);
  }
  if (typeof value !== 'object' || value === null) {
    // Left out of JSON: undefined, functions and symbols.
    return ['number', 'boolean', 'object'].includes(typeof value) ? value : undefined;
  }
  if (ArrayBuffer.isView(value)) {
    return `${value.byteLength} bytes`;
  }
  if (value instanceof Error) {
    return boundText(`${value.name}: ${value.message}`, room, mask);
  }
  if (depth === DEPTH_MAX) {
    room.isTruncated = true;
    return '…';
  }
  const inner = { room, mask, depth: depth + 1 };
  const { toJSON } = value as { readonly toJSON?: unknown };
  if (typeof toJSON === 'function') {
    return boundValue(toJSON.call(value), inner);
  }
  const entries = boundEntries(value, inner);
  return Array.isArray(value) ? Object.values(entries) : entries;
}

function boundEntries(value: object, context: Context): Readonly<Record<string, unknown>> {
  const { room, mask } = context;
  const entries: (readonly [string, unknown])[] = [];
  for (const key of Object.keys(Array.isArray(value) ? value.slice(0, ITEMS_MAX) : value)) {
    if (room.bytes < ENTRY_BYTES_MIN) {
      room.isTruncated = true;
      break;
    }
    const name = boundText(key, room, mask);
    const bounded = boundSafely(() => boundValue(value[key as keyof typeof value], context));
    room.bytes -= NUMBER_BYTES_MAX;
    entries.push([name, bounded]);
  }
  return Object.fromEntries(entries.filter(([, bounded]) => bounded !== undefined));
}

function boundSafely(bound: () => unknown): unknown {
  try {
    return bound();
  } catch {
    return 'unreadable';
  }
}

function jsonBytesOf(text: string): number {
  return Buffer.byteLength(JSON.stringify(text));
}
