import { type LookupAddress, type LookupOptions, lookup as lookupName } from 'node:dns';
import { BlockList, isIP } from 'node:net';

/** Networks that are not the Internet: this machine, private networks, and the metadata server's (IANA's registries). */
const SPECIAL_NETWORKS: readonly (readonly [string, number, 'ipv4' | 'ipv6'])[] = [
  ['0.0.0.0', 8, 'ipv4'],
  ['10.0.0.0', 8, 'ipv4'],
  ['100.64.0.0', 10, 'ipv4'],
  ['127.0.0.0', 8, 'ipv4'],
  ['169.254.0.0', 16, 'ipv4'],
  ['172.16.0.0', 12, 'ipv4'],
  ['192.0.0.0', 24, 'ipv4'],
  ['192.0.2.0', 24, 'ipv4'],
  ['192.88.99.0', 24, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['198.18.0.0', 15, 'ipv4'],
  ['198.51.100.0', 24, 'ipv4'],
  ['203.0.113.0', 24, 'ipv4'],
  ['224.0.0.0', 4, 'ipv4'],
  ['240.0.0.0', 4, 'ipv4'],
];

const special = new BlockList();
for (const network of SPECIAL_NETWORKS) {
  special.addSubnet(...network);
}

/** Only 2000::/3 is assigned to the Internet; parts of it embed IPv4 addresses or are for documentation. */
const internet6 = new BlockList();
internet6.addSubnet('2000::', 3, 'ipv6');
const special6 = new BlockList();
special6.addSubnet('2001::', 23, 'ipv6');
special6.addSubnet('2001:db8::', 32, 'ipv6');
special6.addSubnet('2002::', 16, 'ipv6');
special6.addSubnet('3fff::', 20, 'ipv6');

/** Whether the address is one of the Internet, and not of a private network or of this machine. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 6) {
    return internet6.check(address, 'ipv6') && !special6.check(address, 'ipv6');
  }
  return family === 4 && !special.check(address, 'ipv4');
}

/** Where clouds have their metadata servers, which give tokens to every process of a machine that asks. */
const linkLocal = new BlockList();
linkLocal.addSubnet('169.254.0.0', 16, 'ipv4');
linkLocal.addSubnet('fe80::', 10, 'ipv6');
linkLocal.addAddress('fd00:ec2::254', 'ipv6');
linkLocal.addAddress('fd20:ce::254', 'ipv6');

/** Whether the address is of this machine's own link, such as a metadata server's; IPv4 in IPv6 too. */
export function isLinkLocalAddress(address: string): boolean {
  const family = isIP(address);
  return family === 0 || linkLocal.check(address, family === 6 ? 'ipv6' : 'ipv4');
}

/** Thrown for a name that leads to an address which is not allowed. */
export class PrivateAddressError extends Error {}

type Callback = (error: Error | null, address: string | LookupAddress[], family?: number) => void;
type Lookup = (hostname: string, options: LookupOptions, callback: Callback) => void;

/** How names are resolved; `dns.lookup`, except in tests. */
export type Resolver = (
  hostname: string,
  options: LookupOptions & { readonly all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/**
 * Resolves names as `dns.lookup` does, and fails with PrivateAddressError if any address is not allowed. A socket that
 * uses it connects to an address that was checked, whatever the name leads to a moment later.
 */
export function lookupAllowed(isAllowed: (address: string) => boolean, lookup: Resolver = lookupName): Lookup {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) {
        callback(error, []);
        return;
      }
      const [first] = addresses;
      if (first === undefined || !addresses.every(({ address }) => isAllowed(address))) {
        callback(new PrivateAddressError('The name leads to an address that is not allowed.'), []);
      } else if (options.all === true) {
        callback(null, addresses);
      } else {
        callback(null, first.address, first.family);
      }
    });
  };
}

/**
 * Whether names are resolved at all: that one has no address (ENOTFOUND) is also the answer of a machine that is
 * offline (macOS) or behind a login page. A DNS server that fails, refuses or is not there is EAI_AGAIN with glibc.
 */
export function resolvesNames(knownName: string, lookup: Resolver = lookupName): Promise<boolean> {
  return new Promise((resolve) => {
    lookup(knownName, { all: true }, (error) => resolve(error === null));
  });
}

/** Allows public addresses only. */
export const lookupPublic = lookupAllowed(isPublicAddress);
