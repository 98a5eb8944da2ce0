import { createHmac } from 'node:crypto';

/** Prefix of a key in base64 (Standard Webhooks, "Signature scheme"); a key without it is taken as it is. */
const KEY_PREFIX = 'whsec_';

type Signed = { readonly id: string; readonly body: string; readonly timestampSeconds: number };

/**
 * The headers of Standard Webhooks (https://www.standardwebhooks.com): an HMAC-SHA-256 over id, timestamp and body, so
 * that a receiver can reject what others send, what was changed, and what is old.
 */
export function signWebhook(key: string, { id, body, timestampSeconds }: Signed): Readonly<Record<string, string>> {
  const secret = key.startsWith(KEY_PREFIX) ? Buffer.from(key.slice(KEY_PREFIX.length), 'base64') : Buffer.from(key);
  const signature = createHmac('sha256', secret).update(`${id}.${timestampSeconds}.${body}`).digest('base64');
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': `v1,${signature}`,
  };
}
