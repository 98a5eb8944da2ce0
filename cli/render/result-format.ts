/** How results are printed: for people, or in a form of gcloud's for programs. */
export type ResultFormat =
  | { readonly kind: 'text' | 'json' | 'yaml' }
  /** One line a result, with tabs between the values of these fields: `value(state,placement.zone)`. */
  | { readonly kind: 'value'; readonly fields: readonly string[] };

const FIELD = /^[\w-]+(\.[\w-]+)*$/;

/** Undefined where it is no format that is known. */
export function parseResultFormat(text: string): ResultFormat | undefined {
  if (text === 'text' || text === 'json' || text === 'yaml') {
    return { kind: text };
  }
  const fields = /^value\((.+)\)$/
    .exec(text)?.[1]
    ?.split(',')
    .map((field) => field.trim());
  return fields?.every((field) => FIELD.test(field)) ? { kind: 'value', fields } : undefined;
}

/** Writes results in one form, one after the other. Libraries are loaded only for the form that needs them. */
export async function createResultWriter(
  format: ResultFormat,
): Promise<(result: { readonly json: unknown; readonly text: string }) => string> {
  switch (format.kind) {
    case 'text':
      return ({ text }) => text;
    case 'json':
      return ({ json }) => JSON.stringify(json);
    case 'value':
      return ({ json }) =>
        listOf(json)
          .map((item) => `${format.fields.map((field) => describeValue(readField(item, field))).join('\t')}\n`)
          .join('');
    case 'yaml': {
      const { stringify } = await import('yaml');
      let count = 0;
      const separate = (isOfMany: boolean) => (count++ > 0 || isOfMany ? '---\n' : '');
      return ({ json }) =>
        listOf(json)
          .map((item) => `${separate(Array.isArray(json))}${stringify(item)}`)
          .join('');
    }
  }
}

/** What a path such as `placement.zone` or `attempts.0.cause` leads to; undefined where it leads nowhere. */
export function readField(item: unknown, path: string): unknown {
  let value = item;
  for (const name of path.split('.')) {
    value = typeof value === 'object' && value !== null && Object.hasOwn(value, name) ? Reflect.get(value, name) : null;
  }
  return value;
}

function listOf(json: unknown): readonly unknown[] {
  return Array.isArray(json) ? json : [json];
}

/** As gcloud writes it: nothing for what is not there, lists with semicolons. */
function describeValue(value: unknown): string {
  if (Array.isArray(value)) {
    return value.map(describeValue).join(';');
  }
  return value === null || value === undefined
    ? ''
    : typeof value === 'object'
      ? JSON.stringify(value)
      : String(value).replaceAll(/[\t\n]/g, ' ');
}
