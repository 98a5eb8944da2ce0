/** A value: as text, and already written as JSON (int64 ids are JSON numbers that JavaScript cannot hold). */
export type MetadataLeaf = { readonly kind: 'LEAF'; readonly text: string; readonly json: string };

/** A value that is made for each request, and shown by no recursive listing. */
export type MetadataAction = {
  readonly kind: 'ACTION';
  readonly answer: (query: URLSearchParams) => Promise<MetadataContent>;
};

export type MetadataDirectory = {
  readonly kind: 'DIRECTORY';
  readonly entries: ReadonlyMap<string, MetadataNode>;
  /** Names that users chose stay as they are in JSON; the metadata server's own become camelCase there. */
  readonly isVerbatim: boolean;
};

export type MetadataNode = MetadataLeaf | MetadataAction | MetadataDirectory;
export type MetadataContent = { readonly status: number; readonly type: 'text' | 'json'; readonly body: string };

export function textLeaf(text: string): MetadataLeaf {
  return { kind: 'LEAF', text, json: JSON.stringify(text) };
}

/** Of decimal digits, of any length. */
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

/** One entry a line; those that hold others end with a slash. */
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

/** One value a line, after its path below the directory that was asked for. */
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
