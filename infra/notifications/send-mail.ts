import { isIP } from 'node:net';
import { isPublicAddress, lookupPublic, PrivateAddressError } from '#infra/notifications/public-address.ts';
import type { Mail, SendAnswer } from '#shared/ports/notification-sender.ts';

export type MailLimits = { readonly allowsPrivateAddresses: boolean; readonly timeoutMs?: number };

const TIMEOUT_MS = 10_000;

/** Sends a mail to the server of an SMTP URL. Every failure is a value, and no problem contains the URL. */
export async function sendMail(
  mail: Mail,
  { allowsPrivateAddresses, timeoutMs = TIMEOUT_MS }: MailLimits,
): Promise<SendAnswer> {
  const url = URL.parse(mail.smtpUrl);
  if (url === null || !['smtp:', 'smtps:'].includes(url.protocol) || url.hostname === '') {
    const problem = 'The value of the channel’s secret is not an SMTP URL, such as smtps://user:password@host:465.';
    return { kind: 'FAILED', isFinal: true, problem };
  }
  try {
    const address = allowsPrivateAddresses ? url.hostname : await resolvePublic(url.hostname);
    // Loaded on demand: most deployments have no channel for e-mail.
    const { createTransport } = await import('nodemailer');
    const isSecure = url.protocol === 'smtps:';
    const transport = createTransport({
      host: address,
      port: Number(url.port || (isSecure ? 465 : 587)),
      secure: isSecure,
      // A password is never sent without encryption, except to this machine in the embedded cloud.
      requireTLS: !isSecure && !allowsPrivateAddresses,
      tls: { servername: url.hostname },
      ...(url.username !== '' && {
        auth: { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) },
      }),
      ...{ connectionTimeout: timeoutMs, greetingTimeout: timeoutMs, socketTimeout: timeoutMs, dnsTimeout: timeoutMs },
      disableFileAccess: true,
      disableUrlAccess: true,
    });
    const { from, to, subject, text, messageId } = mail;
    await transport.sendMail({
      from,
      to: [...to],
      subject,
      text,
      messageId,
      headers: { 'auto-submitted': 'auto-generated' },
    });
    return { kind: 'ANSWERED', status: 250, excerpt: '', retryAfterSeconds: null };
  } catch (error) {
    return describeFailure(error, url.host);
  }
}

/** The address of a host, which must be public; it is what the mail is sent to, so it cannot change after the check. */
function resolvePublic(host: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  if (isIP(host) !== 0) {
    return isPublicAddress(host) ? Promise.resolve(host) : Promise.reject(new PrivateAddressError());
  }
  lookupPublic(host, {}, (error, address) => (error === null ? resolve(String(address)) : reject(error)));
  return promise;
}

/** SMTP's 4xx is transient, its 5xx is final (RFC 5321, "Reply Codes by Function Groups"). */
function describeFailure(error: unknown, host: string): SendAnswer {
  const { responseCode, code } = Object(error) as { readonly responseCode?: number; readonly code?: string };
  if (error instanceof PrivateAddressError) {
    const problem = `The mail server ${host} leads to an address that is not public, so it is not called.`;
    return { kind: 'FAILED', isFinal: true, problem };
  }
  if (code === 'EAUTH') {
    const problem = `The mail server ${host} does not accept user and password. Add the right URL as a new version of the secret.`;
    return { kind: 'FAILED', isFinal: true, problem };
  }
  if (responseCode !== undefined && responseCode >= 500) {
    const problem = `The mail server ${host} rejected the mail with ${responseCode}. Check the sender and the recipients of the channel.`;
    return { kind: 'FAILED', isFinal: true, problem };
  }
  const reason = responseCode === undefined ? (code ?? 'error') : `reply ${responseCode}`;
  const problem = `The mail server ${host} could not take the mail (${reason}). Check host and port.`;
  return { kind: 'FAILED', isFinal: false, problem };
}
