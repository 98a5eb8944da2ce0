import data from './runtimes.json' with { type: 'json' };

/** The packages of an image that has the name of a default one, as pins; null for any other image. */
export function packagesOfImage(image: string): readonly string[] | null {
  const name = image.split('/').at(-1) ?? '';
  const isBuiltFrom = (runtime: { readonly name: string }) =>
    name.startsWith(`dropforge-${runtime.name.replaceAll(/[^a-z0-9]+/g, '-')}-v`);
  return data.runtimes.find(isBuiltFrom)?.packages ?? null;
}
