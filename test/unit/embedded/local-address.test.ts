import { expect, it } from 'vitest';
import { localAddressOf, localPeerAddressOf } from '#infra/embedded/compute-engine/vms/local-address.ts';

const memberOf = (jobId: string, attempt: number, position: number) => ({ jobId, attempt, position, vmName: 'vm' });
const portOf = (address: string) => Number(/^127\.0\.0\.1:(\d+)$/.exec(address)?.[1]);

it('gives every replica of a large cluster a port of its own', () => {
  const ports = Array.from({ length: 1_000 }, (_, position) => portOf(localAddressOf(memberOf('large', 1, position))));
  expect(new Set(ports).size).toBe(1_000);
});

it('gives no agent the port of a program, nor either an ephemeral port, whatever the job', () => {
  const members = Array.from({ length: 5_000 }, (_, job) => memberOf(`job_${job}`, (job % 7) + 1, job % 100));
  const programs = members.map((member) => portOf(localAddressOf(member)));
  const agents = members.map((member) => portOf(localPeerAddressOf(member)));
  expect([Math.min(...programs) >= 20_000, Math.max(...programs) < Math.min(...agents)]).toEqual([true, true]);
  expect(Math.max(...agents)).toBeLessThan(32_768);
});

it('gives the next attempt of a job, whose earlier one may still save, other ports', () => {
  const portsOf = (attempt: number) => [
    portOf(localPeerAddressOf(memberOf('pair', attempt, 0))),
    ...[0, 1].map((position) => portOf(localAddressOf(memberOf('pair', attempt, position)))),
  ];
  expect(new Set([...portsOf(1), ...portsOf(2)]).size).toBe(6);
});
