/** A host name in lowercase and without port, brackets and trailing dot. */
export function hostNameOf(authority: string): string {
  return authority
    .replace(/:\d+$/, '')
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase();
}

/** Whether a host serves Google's APIs: the embedded cloud answers for it, and no request for it leaves the machine. */
export const isGoogleApiHost = (host: string): boolean =>
  /(^|\.)googleapis\.com$/.test(host) || host === 'accounts.google.com';

export const isMetadataHost = (host: string): boolean =>
  ['metadata.google.internal', 'metadata', '169.254.169.254'].includes(host);
