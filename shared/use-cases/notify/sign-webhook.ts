import { createHmac } from 'node:crypto';

/** Prefix of a key in base64 (Standard Webhooks, "Signature scheme"); a key without it is taken as it is. */
const KEY_PREFIX = 'whsec_';

/** Shorter keys can be guessed; Standard Webhooks recommends 24 bytes, of which `openssl rand -base64 32` has 32. */
const KEY_BYTES_MIN = 16;

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** Whether the text is a key that cannot be guessed: an empty one would sign what anyone can forge. */
export function isSigningKey(key: string): boolean {
  const isValid = !key.startsWith(KEY_PREFIX) || BASE64.test(key.slice(KEY_PREFIX.length));
  return isValid && bytesOf(key).byteLength >= KEY_BYTES_MIN;
}

function bytesOf(key: string): Buffer {
  return key.startsWith(KEY_PREFIX) ? Buffer.from(key.slice(KEY_PREFIX.length), 'base64') : Buffer.from(key);
}

type Signed = { readonly id: string; readonly body: string; readonly timestampSeconds: number };

/**
 * The headers of Standard Webhooks (https://www.standardwebhooks.com): an HMAC-SHA-256 over id, timestamp and body, so
 * that a receiver can reject what others send, what was changed, and what is old.
 */
export function signWebhook(key: string, { id, body, timestampSeconds }: Signed): Readonly<Record<string, string>> {
  const signature = createHmac('sha256', bytesOf(key)).update(`${id}.${timestampSeconds}.${body}`).digest('base64');
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': `v1,${signature}`,
  };
}
