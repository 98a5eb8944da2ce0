import { distributionOf, OFTEN_REQUIRED } from '#shared/python/python-packages.ts';
import { didYouMean, nearestName } from '#shared/text/nearest-name.ts';

const SOME_GOOGLE_CLIENT = 'google-cloud-storage (or the client of another service)';

const normalized = (module: string) => module.toLowerCase().replaceAll('_', '-');

/** Says which module is missing, and which package to require for it, if known. Python also names modules of packages it has found. */
export function describeMissing(module: string): string {
  const [top = '', ...rest] = module.split('.');
  if (rest.length > 0 && top !== 'google') {
    return `${top} was found and has no module ${module}: its version is another one, or a file is not in the package.`;
  }
  const known = distributionOf(module) ?? distributionOf(top);
  const distribution = top === 'google' ? (known ?? SOME_GOOGLE_CLIENT) : known;
  const isNamedSo = distribution === undefined || distribution === normalized(top);
  return `Module ${module} is not installed.${isNamedSo ? describeNearest(top) : ` The package ${distribution} has it.`}`;
}

/** `Did you mean "numpy"?` after another sentence, for a name that is none of the known ones, but near to one. */
export function describeNearest(name: string): string {
  const isKnown = OFTEN_REQUIRED.includes(name) || nearestName(name, OFTEN_REQUIRED) === undefined;
  return isKnown ? '' : ` ${didYouMean(name, OFTEN_REQUIRED).trim()}`;
}
