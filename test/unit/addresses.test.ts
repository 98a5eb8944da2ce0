import { describe, expect, it } from 'vitest';
import { isLinkLocalAddress, isLocalAddress, isPublicAddress, lookupAllowed } from '#infra/network/addresses.ts';
import { readRetryAfterMs } from '#infra/network/retry-after.ts';

const METADATA_SERVER = [
  '169.254.169.254',
  '::ffff:169.254.169.254',
  '::ffff:a9fe:a9fe',
  '::169.254.169.254',
  '64:ff9b::a9fe:a9fe',
  '64:ff9b::169.254.169.254',
  '64:ff9b:1:a9fe:a9:fe00::',
  '64:ff9b:1::a9fe:a9fe',
  '2002:a9fe:a9fe::',
  '2001:0:c000:201::5601:5601',
  'fe80::5efe:a9fe:a9fe',
  'fe80::1%eth0',
  'fd00:ec2::254',
  'fd20:ce::254',
];

describe('addresses', () => {
  it.each(METADATA_SERVER)('%s is of the link, and neither public nor remote', (address) => {
    expect([isLinkLocalAddress(address), isLocalAddress(address), isPublicAddress(address)]).toEqual([
      true,
      true,
      false,
    ]);
  });

  it.each(['127.0.0.1', '::1', '::', '0.0.0.0', '::ffff:127.0.0.1', '64:ff9b::7f00:1', '2002:7f00:1::'])(
    '%s is of this machine, and not of the link',
    (address) => {
      expect([isLinkLocalAddress(address), isLocalAddress(address), isPublicAddress(address)]).toEqual([
        false,
        true,
        false,
      ]);
    },
  );

  it.each(['10.1.2.3', '192.168.0.1', 'fd12::1', '64:ff9b::a01:203', '2002:a01:203::'])('%s is private', (address) => {
    expect([isLinkLocalAddress(address), isLocalAddress(address), isPublicAddress(address)]).toEqual([
      false,
      false,
      false,
    ]);
  });

  it.each(['8.8.8.8', '2607:f8b0::1', '2a00:1450:4001::200e'])('%s is public', (address) => {
    expect([isLinkLocalAddress(address), isLocalAddress(address), isPublicAddress(address)]).toEqual([
      false,
      false,
      true,
    ]);
  });

  it.each(['', 'x', '1.2.3', '0x7f.1', '::ffff:1.2.3.999'])('%j is not an address', (text) => {
    expect([isLinkLocalAddress(text), isLocalAddress(text), isPublicAddress(text)]).toEqual([true, true, false]);
  });

  it('are checked after a name was resolved', async () => {
    const lookup = lookupAllowed(
      (address) => !isLinkLocalAddress(address),
      (_name, _options, answer) => answer(null, [{ address: '64:ff9b::a9fe:a9fe', family: 6 }]),
    );
    const error = await new Promise((resolve) => lookup('metadata.example', {}, (failure) => resolve(failure)));
    expect(String(error)).toMatch(/address that is not allowed/);
  });
});

it.each([
  ['120', 120_000],
  ['0', 0],
  ['-5', 0],
  ['Thu, 01 Jan 1970 00:01:00 GMT', 50_000],
  ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
  ['soon', null],
  ['', null],
  [undefined, null],
])('Retry-After %j is in %s ms', (header, ms) => {
  expect(readRetryAfterMs(header, 10_000)).toBe(ms);
});
