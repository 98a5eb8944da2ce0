import { isScalar, isSeq, parseDocument, type Scalar, visit } from 'yaml';

/** The names of lists of packages in the formats of job files. */
const LIST_NAMES: readonly unknown[] = ['packages', 'packageUris', 'package_uris'];

/** Characters of the text, and the name that replaces them. */
type Change = { readonly start: number; readonly end: number; readonly name: string };

/**
 * The text of a job file with another name for each package that `rename` knows. Every other character stays, and so
 * does the line of every field.
 */
export function renamePackages(text: string, rename: (name: string) => string | undefined): string {
  const changeOf = ({ value, range }: Scalar): readonly Change[] => {
    const name = rename(String(value));
    const [start, end] = range ?? [0, 0];
    return name === undefined || name === value ? [] : [{ start, end, name }];
  };
  const changes: Change[] = [];
  visit(parseDocument(text, { uniqueKeys: false, logLevel: 'silent' }), {
    Pair(_, { key, value }) {
      if (isScalar(key) && LIST_NAMES.includes(key.value) && isSeq(value)) {
        changes.push(...value.items.flatMap((item) => (isScalar(item) ? changeOf(item) : [])));
      }
    },
  });
  // A text in double quotes is the same in YAML and in JSON.
  return changes.reduceRight(
    (changed, { start, end, name }) => changed.slice(0, start) + JSON.stringify(name) + changed.slice(end),
    text,
  );
}
