import { lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { isLocalAddress, lookupAllowed, type Resolver } from '#infra/network/addresses.ts';

/** A host that the proxy does not connect to, because it is this machine itself. */
export class LocalAddressError extends Error {
  constructor(host: string) {
    super(
      `The proxy of the VM does not connect to ${host}, an address of this machine. Connect to it directly: add it to ` +
        'NO_PROXY before you start the embedded cloud.',
    );
  }
}

/** Whether the text is a loopback, unspecified or link-local address, IPv4 in IPv6 too, or `localhost`. */
export function isLocalHost(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '').replace(/%.*$/, '');
  return isIP(name) === 0 ? /(^|\.)localhost\.?$/i.test(name) : isLocalAddress(name);
}

/**
 * Node.js resolves names on the four threads that also read and write files: without a limit, names that cannot be
 * resolved would delay the embedded cloud itself.
 */
const LOOKUPS_COUNT_MAX = 2;
const waiting: (() => void)[] = [];
let runningCount = 0;

/** dns.lookup, with few names at a time. */
export const lookupInTurn: LookupFunction = (host, options, callback) => {
  function start(): void {
    runningCount += 1;
    lookup(host, options, (error, address, family) => {
      runningCount -= 1;
      waiting.shift()?.();
      callback(error, address, family);
    });
  }
  if (runningCount < LOOKUPS_COUNT_MAX) {
    start();
  } else {
    waiting.push(start);
  }
};

/** dns.lookup for connections: fails for a name that resolves to an address of this machine, also among others. */
export const lookupRemote = lookupAllowed(
  (address) => !isLocalHost(address),
  lookupInTurn as Resolver,
  (host) => new LocalAddressError(host),
);
