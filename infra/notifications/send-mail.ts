import { once } from 'node:events';
import { connect, isIP, type Socket } from 'node:net';
import { hostOf, isPublicAddress, lookupPublic, PrivateAddressError } from '#infra/network/addresses.ts';
import type { Mail, SendAnswer } from '#shared/ports/notification-sender.ts';

export type MailLimits = { readonly allowsPrivateAddresses: boolean; readonly timeoutMs?: number };

/** For the connection, and for each reply of the server. */
const TIMEOUT_MS = 10_000;

/** The limit of the whole exchange in timeouts, for a server that replies a little at a time. */
const TIMEOUTS_MAX = 3;

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1)$/;

/** Sends a mail to the server of an SMTP URL. Every failure is a value, and no problem contains user or password. */
export async function sendMail(mail: Mail, limits: MailLimits): Promise<SendAnswer> {
  const url = URL.parse(mail.smtpUrl);
  const auth = url && credentialsOf(url);
  if (url === null || auth === null || !['smtp:', 'smtps:'].includes(url.protocol) || url.hostname === '') {
    const problem =
      'The value of the channel’s secret is not an SMTP URL, such as smtps://user:password@host:465 with "%" and "@" of the password encoded.';
    return { kind: 'FAILED', isFinal: true, problem };
  }
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), (limits.timeoutMs ?? TIMEOUT_MS) * TIMEOUTS_MAX);
  try {
    const { promise, reject } = Promise.withResolvers<never>();
    deadline.signal.addEventListener('abort', () => reject(Object.assign(new Error('late'), { code: 'ETIMEDOUT' })));
    return await Promise.race([send(mail, { url, auth, ...limits, signal: deadline.signal }), promise]);
  } catch (error) {
    return describeFailure(error, url.host);
  } finally {
    clearTimeout(timer);
    // Closes the connection, whatever became of the mail.
    deadline.abort();
  }
}

type Credentials = { readonly user: string; readonly pass: string };
type Target = MailLimits & {
  readonly url: URL;
  readonly auth: Credentials | undefined;
  readonly signal: AbortSignal;
};

async function send(mail: Mail, target: Target): Promise<SendAnswer> {
  const { url, auth, allowsPrivateAddresses, timeoutMs = TIMEOUT_MS } = target;
  const host = hostOf(url);
  const isSecure = url.protocol === 'smtps:';
  // Loaded on demand: most deployments have no channel for e-mail.
  const { createTransport } = await import('nodemailer');
  const connection = await openConnection(target);
  const transport = createTransport({
    ...{ connection, host, secure: isSecure },
    // A password is never sent without encryption, except to this machine in the embedded cloud.
    requireTLS: !isSecure && !(allowsPrivateAddresses && (auth === undefined || LOOPBACK.test(host))),
    ...(auth !== undefined && { auth }),
    ...{ greetingTimeout: timeoutMs, socketTimeout: timeoutMs },
    ...{ disableFileAccess: true, disableUrlAccess: true },
  });
  const { from, to, subject, text, messageId } = mail;
  const headers = { 'auto-submitted': 'auto-generated' };
  const { accepted, rejected } = await transport.sendMail({ from, to: [...to], subject, text, messageId, headers });
  if (rejected.length > 0) {
    // Final: the others have the mail, and would get it again.
    const problem = `The mail server ${url.host} accepted the mail for ${accepted.length} of ${to.length} recipients, and not for ${rejected.join(', ')}. Check the recipients of the channel.`;
    return { kind: 'FAILED', isFinal: true, problem };
  }
  return { kind: 'ANSWERED', status: 250, excerpt: '', retryAfterSeconds: null };
}

/** A connection to an address that was checked: the mail cannot go to another one that the name leads to later. */
async function openConnection({
  url,
  allowsPrivateAddresses,
  timeoutMs = TIMEOUT_MS,
  signal,
}: Target): Promise<Socket> {
  const host = hostOf(url);
  if (!allowsPrivateAddresses && isIP(host) !== 0 && !isPublicAddress(host)) {
    throw new PrivateAddressError();
  }
  const port = Number(url.port || (url.protocol === 'smtps:' ? 465 : 587));
  const socket = connect({ host, port, ...(!allowsPrivateAddresses && { lookup: lookupPublic }) });
  signal.addEventListener('abort', () => socket.destroy());
  // Nodemailer reports errors from when it has the socket; one before that ends in its timeout, and not this process.
  socket.on('error', () => undefined);
  await once(socket, 'connect', { signal: AbortSignal.timeout(timeoutMs) });
  return socket;
}

/** User and password; undefined if the URL has none, and null if they are not percent-encoded UTF-8. */
function credentialsOf({ username, password }: URL): Credentials | undefined | null {
  try {
    return username === '' ? undefined : { user: decodeURIComponent(username), pass: decodeURIComponent(password) };
  } catch {
    // The caller says how to write the URL.
    return null;
  }
}

/** SMTP's 4xx is transient, its 5xx is final (RFC 5321, "Reply Codes by Function Groups"). */
function describeFailure(error: unknown, host: string): SendAnswer {
  const { responseCode, code, name } = Object(error) as {
    readonly responseCode?: number;
    readonly code?: string;
    readonly name?: string;
  };
  if (error instanceof PrivateAddressError) {
    const problem = `The mail server ${host} leads to an address that is not public, so it is not called.`;
    return { kind: 'FAILED', isFinal: true, problem };
  }
  const isTransient = responseCode !== undefined && responseCode < 500;
  if (code === 'EAUTH' && !isTransient) {
    const problem = `The mail server ${host} does not accept user and password. Add the right URL as a new version of the secret.`;
    return { kind: 'FAILED', isFinal: true, problem };
  }
  if (responseCode !== undefined && responseCode >= 500) {
    const problem = `The mail server ${host} rejected the mail with ${responseCode}. Check the sender and the recipients of the channel.`;
    return { kind: 'FAILED', isFinal: true, problem };
  }
  if (code === 'ETLS') {
    const problem = `The mail server ${host} offers no encryption (TLS) with a certificate that is valid for its name, so nothing was sent to it. Check host and port, and whether it is smtps:// or smtp://.`;
    return { kind: 'FAILED', isFinal: false, problem };
  }
  const reason = responseCode === undefined ? (code ?? name ?? 'error') : `reply ${responseCode}`;
  const problem = `The mail server ${host} could not take the mail (${reason}). Check host, port and certificate.`;
  return { kind: 'FAILED', isFinal: false, problem };
}
