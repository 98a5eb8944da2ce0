import { type LookupOptions, lookup } from 'node:dns';
import { BlockList, isIP, isIPv6, type LookupFunction } from 'node:net';

const LOCAL = new BlockList();
LOCAL.addSubnet('0.0.0.0', 8);
LOCAL.addSubnet('127.0.0.0', 8);
LOCAL.addSubnet('169.254.0.0', 16);
LOCAL.addAddress('::', 'ipv6');
LOCAL.addAddress('::1', 'ipv6');
LOCAL.addSubnet('fe80::', 10, 'ipv6');

/** A host that the proxy does not connect to, because it is this machine itself. */
export class LocalAddressError extends Error {
  constructor(host: string) {
    super(
      `The proxy of the VM does not connect to ${host}, an address of this machine. Connect to it directly: add it to ` +
        'NO_PROXY before you start the embedded cloud.',
    );
  }
}

/** Whether the text is a loopback, unspecified or link-local address, IPv4 mapped to IPv6 too, or `localhost`. */
export function isLocalHost(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '').replace(/%.*$/, '');
  if (isIP(name) === 0) {
    return /(^|\.)localhost\.?$/i.test(name);
  }
  return LOCAL.check(name, isIPv6(name) ? 'ipv6' : 'ipv4');
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
export const lookupRemote: LookupFunction = (host, options: LookupOptions, callback) => {
  lookupInTurn(host, { ...options, all: true }, (error, found) => {
    const addresses = typeof found === 'string' ? [] : (found ?? []);
    const [first] = addresses;
    if (error !== null || first === undefined) {
      callback(error ?? new Error(`${host} has no address.`), '');
    } else if (addresses.some(({ address }) => isLocalHost(address))) {
      callback(new LocalAddressError(host), '');
    } else if (options.all === true) {
      callback(null, addresses);
    } else {
      callback(null, first.address, first.family);
    }
  });
};
