import type { Context, Hono } from 'hono';

/**
 * Reads the e-mail address of the caller of a request from signed headers; null unless a signature proves it. Throws if
 * the issuer's keys cannot be fetched.
 */
export type IdentifyCaller = (headers: Headers) => Promise<string | null>;

declare module 'hono' {
  interface ContextVariableMap {
    caller: string | null;
  }
}

/**
 * Identifies the caller of every request that changes something, for the record of who submitted a job or opened a
 * shell. Nothing depends on it, so a failure does not end the request.
 */
export function identifyCallers(app: Hono, identifyCaller: IdentifyCaller = async () => null): void {
  app.use('/v1/*', async (context, next) => {
    const { method, raw } = context.req;
    const isNeeded = !['GET', 'HEAD'].includes(method);
    context.set('caller', isNeeded ? await identifyCaller(raw.headers).catch(() => null) : null);
    await next();
  });
}

/** The e-mail address of the caller of a request that changes something; null unless a signature proves it. */
export function callerOf(context: Context): string | null {
  return context.get('caller');
}
