import type { Problem } from '#shared/protocol/problem.ts';
import { checkAccount } from '#shared/use-cases/intake/checks/account.ts';
import { checkChannels } from '#shared/use-cases/intake/checks/channels.ts';
import type { Check, CheckedJob, CheckPorts, Found } from '#shared/use-cases/intake/checks/check.ts';
import { checkContainerEngine } from '#shared/use-cases/intake/checks/container-engine.ts';
import { checkData } from '#shared/use-cases/intake/checks/data.ts';
import { checkImageHosts } from '#shared/use-cases/intake/checks/image-hosts.ts';
import { checkImages } from '#shared/use-cases/intake/checks/images.ts';
import { checkJobDir } from '#shared/use-cases/intake/checks/job-dir.ts';
import { checkKeptVm } from '#shared/use-cases/intake/checks/kept-vm.ts';
import { checkKmsKey } from '#shared/use-cases/intake/checks/kms-key.ts';
import { checkNetwork } from '#shared/use-cases/intake/checks/network.ts';
import { checkPackages } from '#shared/use-cases/intake/checks/packages.ts';
import { checkParallelTrials } from '#shared/use-cases/intake/checks/parallel-trials.ts';
import { checkPrograms } from '#shared/use-cases/intake/checks/programs.ts';
import { checkResumedTuning } from '#shared/use-cases/intake/checks/resumed-tuning.ts';
import { checkRuntime } from '#shared/use-cases/intake/checks/runtime.ts';
import { checkSecretNames } from '#shared/use-cases/intake/checks/secret-names.ts';
import { checkShellAccess } from '#shared/use-cases/intake/checks/shell-access.ts';
import { checkVmConfig } from '#shared/use-cases/intake/checks/vm-config.ts';
import { checkVmLimits } from '#shared/use-cases/intake/checks/vm-limits.ts';
import { checkZones } from '#shared/use-cases/intake/checks/zones.ts';

type Row = {
  readonly check: Check;
  /** It runs only if these rows above, or all of them, have found no problem and nothing to wait for. */
  readonly needs?: readonly Check[] | 'ALL';
};

/**
 * Every check of a job against its deployment, in the order in which they run and problems are reported. Each gets what
 * those above it have pinned: a check that reads a pin stands below the one that makes it.
 */
const CHECKS: readonly Row[] = [
  // Pins the packages, from which the programs and the configuration of VMs are checked.
  { check: checkPackages },
  { check: checkPrograms },
  { check: checkContainerEngine },
  { check: checkImageHosts, needs: [checkContainerEngine] },
  // Pins the digests of images. An image that no VM could pull is not looked up.
  { check: checkImages, needs: [checkContainerEngine, checkImageHosts] },
  { check: checkJobDir },
  { check: checkZones },
  { check: checkVmLimits },
  { check: checkChannels },
  { check: checkAccount },
  { check: checkSecretNames },
  { check: checkNetwork },
  { check: checkKmsKey },
  { check: checkRuntime },
  { check: checkKeptVm },
  { check: checkShellAccess },
  { check: checkData },
  // Pins the parameters that a study takes over, then its number of parallel trials.
  { check: checkResumedTuning },
  { check: checkParallelTrials },
  // Writes the configuration of the VMs from everything that is pinned.
  { check: checkVmConfig, needs: 'ALL' },
];

/** Their warnings, which say what runs instead of what was requested, come before those of the other checks. */
const WARNED_FIRST: readonly Check[] = [checkRuntime, checkKeptVm, checkShellAccess, checkImageHosts];

/** The job with everything that was pinned, and what was found. */
export type Checked = { readonly job: CheckedJob } & Required<Omit<Found, 'pins'>>;

export async function runChecks(given: CheckedJob, ports: CheckPorts): Promise<Checked> {
  const found = new Map<Check, Found>();
  let job = given;
  for (const { check, needs = [] } of CHECKS) {
    const needed = needs === 'ALL' ? [...found.values()] : needs.map((one) => found.get(one));
    if (needed.every(hasPassed)) {
      const { pins, ...findings } = await check(job, ports);
      found.set(check, findings);
      job = { ...job, ...pins, warnings: [...job.warnings, ...(findings.warnings ?? [])] };
    }
  }
  const listOf = (kind: keyof Omit<Found, 'pins'>, order: Iterable<Check> = found.keys()): readonly Problem[] =>
    [...order].flatMap((check) => found.get(check)?.[kind] ?? []);
  return {
    job,
    problems: listOf('problems'),
    warnings: [...given.warnings, ...listOf('warnings', new Set([...WARNED_FIRST, ...found.keys()]))],
    missing: listOf('missing'),
    unavailable: listOf('unavailable'),
  };
}

/** A check that did not run has not passed. */
function hasPassed(found: Found | undefined): boolean {
  const { problems = [], missing = [], unavailable = [] } = found ?? {};
  return found !== undefined && problems.length + missing.length + unavailable.length === 0;
}
