import { type LookupAddress, type LookupOptions, lookup as lookupName } from 'node:dns';
import { BlockList, isIP } from 'node:net';

type Network = readonly [address: string, prefix: number, family: 'ipv4' | 'ipv6'];

/** This machine itself, and what has no address yet (IANA's registries of special-purpose addresses). */
const OWN: readonly Network[] = [
  ['0.0.0.0', 8, 'ipv4'],
  ['127.0.0.0', 8, 'ipv4'],
  ['::', 128, 'ipv6'],
  ['::1', 128, 'ipv6'],
];

/** The link, where clouds have their metadata servers, which give tokens to every process of a machine that asks. */
const LINK: readonly Network[] = [
  ['169.254.0.0', 16, 'ipv4'],
  // The host of a VM on Azure.
  ['168.63.129.16', 32, 'ipv4'],
  ['fe80::', 10, 'ipv6'],
  ['fd00:ec2::254', 128, 'ipv6'],
  ['fd20:ce::254', 128, 'ipv6'],
];

/** Other networks that are not the Internet. Of IPv6, only 2000::/3 is assigned to it, without these parts. */
const OTHERS: readonly Network[] = [
  ['10.0.0.0', 8, 'ipv4'],
  ['100.64.0.0', 10, 'ipv4'],
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
  ['2001::', 23, 'ipv6'],
  ['2001:db8::', 32, 'ipv6'],
  ['2002::', 16, 'ipv6'],
  ['3fff::', 20, 'ipv6'],
];

const link = blockListOf(LINK);
const local = blockListOf([...OWN, ...LINK]);
const special = blockListOf([...OWN, ...LINK, ...OTHERS]);
const internet6 = blockListOf([['2000::', 3, 'ipv6']]);

function blockListOf(networks: readonly Network[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    list.addSubnet(...network);
  }
  return list;
}

/** Whether the address is one of the Internet, and not of a private network or of this machine. */
export function isPublicAddress(address: string): boolean {
  return isIP(address) !== 0 && (isIP(address) === 4 || internet6.check(address, 'ipv6')) && !isIn(special, address);
}

/** Whether the address is of this machine's own link, such as a metadata server's. True if it is not an address. */
export function isLinkLocalAddress(address: string): boolean {
  return isIP(address) === 0 || isIn(link, address);
}

/** Whether the address is of this machine itself, or of its link. True if it is not an address. */
export function isLocalAddress(address: string): boolean {
  return isIP(address) === 0 || isIn(local, address);
}

/** Whether a list has the address, or the IPv4 address to which a gateway passes on what is sent to it. */
function isIn(list: BlockList, address: string): boolean {
  if (isIP(address) === 4) {
    return list.check(address, 'ipv4');
  }
  return list.check(address, 'ipv6') || embeddedAddresses(address).some((embedded) => list.check(embedded, 'ipv4'));
}

/**
 * The IPv4 addresses in an IPv6 address: compatible and mapped (RFC 4291), translated by NAT64 (RFC 6052, RFC 8215),
 * 6to4 (RFC 3056), Teredo's client (RFC 4380), ISATAP (RFC 5214).
 */
function embeddedAddresses(address: string): readonly string[] {
  const groups = groupsOf(address);
  const at = (index: number, mask = 0) =>
    [groups[index] ?? 0, groups[index + 1] ?? 0]
      .map((group) => group ^ mask)
      .flatMap((group) => [group >> 8, group & 255])
      .join('.');
  const [first, second, third] = groups;
  const isZero = (count: number) => groups.slice(0, count).every((group) => group === 0);
  return [
    ...(isZero(5) || (isZero(4) && groups[4] === 0xffff) || (first === 0x64 && second === 0xff9b) ? [at(6)] : []),
    ...(first === 0x64 && second === 0xff9b && third === 1 ? [at(3)] : []),
    ...(first === 0x2002 ? [at(1)] : []),
    ...(first === 0x2001 && second === 0 ? [at(6, 0xffff)] : []),
    ...(groups[5] === 0x5efe ? [at(6)] : []),
  ];
}

/** The eight numbers of an IPv6 address. A URL writes all of them in hexadecimal digits, and has no zone. */
function groupsOf(address: string): readonly number[] {
  const hex = new URL(`http://[${address.split('%')[0]}]`).hostname.slice(1, -1);
  const [head = [], tail] = hex.split('::').map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = tail === undefined ? 0 : 8 - head.length - tail.length;
  return [...head, ...Array<string>(zeros).fill('0'), ...(tail ?? [])].map((group) => Number.parseInt(group, 16));
}

/** The host of a URL, without the brackets of an IPv6 address. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
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
 * Resolves names as `dns.lookup` does, and fails with PrivateAddressError, or the given error, if any address is not
 * allowed. A socket that uses it connects to an address that was checked, whatever the name leads to a moment later.
 */
export function lookupAllowed(
  isAllowed: (address: string) => boolean,
  lookup: Resolver = lookupName,
  refuse: (hostname: string) => Error = () =>
    new PrivateAddressError('The name leads to an address that is not allowed.'),
): Lookup {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) {
        callback(error, []);
        return;
      }
      const [first] = addresses;
      if (first === undefined || !addresses.every(({ address }) => isAllowed(address))) {
        callback(refuse(hostname), []);
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
