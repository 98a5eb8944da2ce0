import { decode, ExtensionCodec, encode } from '@msgpack/msgpack';

/** A value that is known only after apply. */
export const UNKNOWN = Symbol('unknown');

/** A value as exchanged between Terraform and providers. */
export type Value = null | boolean | number | string | typeof UNKNOWN | readonly Value[] | ValueMap;

export type ValueMap = { readonly [name: string]: Value };

export function isValueMap(value: Value | undefined): value is ValueMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Unknown values are extensions (Terraform, docs/plugin-protocol/object-wire-format.md): 12 carries refinements. */
const extensionCodec = new ExtensionCodec();
extensionCodec.register({
  type: 0,
  encode: (value) => (value === UNKNOWN ? Uint8Array.of(0) : null),
  decode: () => UNKNOWN,
});
extensionCodec.register({ type: 12, encode: () => null, decode: () => UNKNOWN });

export function encodeValue(value: Value): Uint8Array {
  return encode(value, { extensionCodec });
}

export function decodeValue(bytes: Uint8Array): Value {
  return decode(bytes, { extensionCodec }) as Value;
}
