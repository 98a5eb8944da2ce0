import type { LintSubject } from '#shared/package/lint/lint-subject.ts';
import type { LintFinding } from '#shared/package/lint/package-checks.ts';
import { nameOfRequirement, normalizeName } from '#shared/package/metadata/core-metadata.ts';
import { satisfies } from '#shared/package/metadata/version-specifier.ts';
import { NAT_REMEDY } from '#shared/protocol/internet-access.ts';
import { distributionsOf } from '#shared/python/python-packages.ts';
import { listFirst } from '#shared/text/list-first.ts';

const NAMES_SHOWN_MAX = 5;
/** A project without any of these words is imported as it is; the agent's source_tree.py has the same rule. */
const NEEDS_BUILD = /\b(?:install_requires|dependencies|dynamic)\b/;
const BACKEND = /^\s*build-backend\s*=\s*["'](\w+)/m;

/**
 * NOT_IN_IMAGE: warning for requirements and build backends that the machine image lacks, in any version of what it
 * has, if VMs reach no host outside of Google. It is no error, since the image may name an index that VMs reach
 * (pip.conf). If the packages of the image are unknown, it says so.
 */
export function checkDownloads(subject: LintSubject): LintFinding[] {
  if (subject.reachesInternet !== false) {
    return [];
  }
  const { packages, requirements, imagePackages } = subject;
  const pins = new Map(
    (imagePackages ?? []).map((pin) => [nameOfRequirement(pin), /==(\d+(?:\.\d+)*)/.exec(pin)?.[1] ?? '']),
  );
  // CUDA's packages come with frameworks and their extras.
  const known = imagePackages && distributionsOf(pins.keys());
  const hasName = (name: string) => known?.has(name) === true || name.startsWith('nvidia-');
  const own = packages.map(({ name }) => normalizeName(name ?? ''));
  const lacking = requirements.filter(({ name, specifier, url }) => {
    const pin = pins.get(name);
    const fits = pin === undefined || satisfies(pin.split('.').map(Number), specifier) !== false;
    return !own.includes(name) && (url !== '' || !hasName(name) || !fits);
  });
  const backends = packages
    .flatMap(({ evidence: { buildText } }) => (NEEDS_BUILD.test(buildText) ? (BACKEND.exec(buildText)?.[1] ?? []) : []))
    .filter((name) => !hasName(normalizeName(name)));
  const names = [...new Set([...lacking.map(({ shown }) => shown), ...backends.map((name) => `${name} (build)`)])];
  const list = listFirst(names, NAMES_SHOWN_MAX);
  const what =
    known === null ? `It is not known whether the machine image has ${list}` : `The machine image lacks ${list}`;
  const message = `${what}, and VMs reach no package index outside of Google: what is missing is not installed, unless the image names another index.`;
  const remedy = `Use a runtime or a container that has it, or an index that VMs reach (pip.conf of the image); or ${NAT_REMEDY}.`;
  return names.length === 0 ? [] : [{ code: 'NOT_IN_IMAGE', severity: 'WARNING', message, remedy }];
}
