import { distributionOf, OFTEN_REQUIRED } from '#shared/python/python-packages.ts';
import { didYouMean, nearestName } from '#shared/text/nearest-name.ts';

const SOME_GOOGLE_CLIENT = 'google-cloud-storage (or the client of another service)';

const normalized = (module: string) => module.toLowerCase().replaceAll('_', '-');

/** What to require for a module that is missing, as a sentence after another one; empty if that is not known. */
export function describeDistribution(module: string): string {
  const [top = ''] = module.split('.');
  const known = distributionOf(module) ?? distributionOf(top);
  const distribution = top === 'google' ? (known ?? SOME_GOOGLE_CLIENT) : known;
  const isNamedSo = distribution === undefined || distribution === normalized(top);
  return isNamedSo ? describeNearest(top) : ` The package ${distribution} has it.`;
}

/** `Did you mean "numpy"?` after another sentence, for a name that is none of the known ones, but near to one. */
export function describeNearest(name: string): string {
  const isKnown = OFTEN_REQUIRED.includes(name) || nearestName(name, OFTEN_REQUIRED) === undefined;
  return isKnown ? '' : ` ${didYouMean(name, OFTEN_REQUIRED).trim()}`;
}
