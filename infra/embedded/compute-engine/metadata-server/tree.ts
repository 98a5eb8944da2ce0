/** A value as text and as encoded JSON (int64 ids are JSON numbers that JavaScript cannot represent). */
export type MetadataLeaf = { readonly kind: 'LEAF'; readonly text: string; readonly json: string };

/** A value computed for each request and omitted from recursive listings. */
export type MetadataAction = {
  readonly kind: 'ACTION';
  readonly respond: (query: URLSearchParams) => Promise<MetadataContent>;
};

export type MetadataDirectory = {
  readonly kind: 'DIRECTORY';
  readonly entries: ReadonlyMap<string, MetadataNode>;
  /** In JSON, names chosen by users stay verbatim; the metadata server's own names become camelCase. */
  readonly isVerbatim: boolean;
};

export type MetadataNode = MetadataLeaf | MetadataAction | MetadataDirectory;
export type MetadataContent = { readonly status: number; readonly type: 'text' | 'json'; readonly body: string };

export function textLeaf(text: string): MetadataLeaf {
  return { kind: 'LEAF', text, json: JSON.stringify(text) };
}

/** An integer of any size, as decimal digits. */
export function integerLeaf(digits: string): MetadataLeaf {
  return { kind: 'LEAF', text: digits, json: digits };
}

export function linesLeaf(lines: readonly string[]): MetadataLeaf {
  return { kind: 'LEAF', text: lines.map((line) => `${line}\n`).join(''), json: JSON.stringify(lines) };
}

export function directory(entries: Readonly<Record<string, MetadataNode>>): MetadataDirectory {
  return { kind: 'DIRECTORY', entries: new Map(Object.entries(entries)), isVerbatim: false };
}

export function verbatimDirectory(entries: Iterable<readonly [string, MetadataNode]>): MetadataDirectory {
  return { kind: 'DIRECTORY', entries: new Map(entries), isVerbatim: true };
}

export function findNode(root: MetadataDirectory, names: readonly string[]): MetadataNode | undefined {
  let node: MetadataNode | undefined = root;
  for (const name of names) {
    node = node?.kind === 'DIRECTORY' ? node.entries.get(name) : undefined;
  }
  return node;
}

/** One entry per line; directories end with a slash. */
export function renderListing({ entries }: MetadataDirectory): string {
  return [...entries].map(([name, node]) => `${name}${node.kind === 'DIRECTORY' ? '/' : ''}\n`).join('');
}

export function renderJson(node: MetadataLeaf | MetadataDirectory): string {
  if (node.kind === 'LEAF') {
    return node.json;
  }
  const members = shownEntries(node).map(([name, child]) => {
    const key = node.isVerbatim ? name : toCamelCase(name);
    return `${JSON.stringify(key)}:${renderJson(child)}`;
  });
  return `{${members.join(',')}}`;
}

/** One value per line, prefixed by its path relative to the requested directory. */
export function renderText(node: MetadataLeaf | MetadataDirectory, path = ''): string {
  if (node.kind === 'LEAF') {
    return path === '' ? node.text : `${path} ${node.text.trimEnd()}\n`;
  }
  return shownEntries(node)
    .map(([name, child]) => renderText(child, path === '' ? name : `${path}/${name}`))
    .join('');
}

function shownEntries({ entries }: MetadataDirectory): [string, MetadataLeaf | MetadataDirectory][] {
  return [...entries].filter(
    (entry): entry is [string, MetadataLeaf | MetadataDirectory] => entry[1].kind !== 'ACTION',
  );
}

function toCamelCase(name: string): string {
  return name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
