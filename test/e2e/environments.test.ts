import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { chmod, chown, cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo, isIP } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const COPIED = ['cli', 'infra', 'shared', 'functions', 'dashboard', 'examples', 'package.json'];
/** The user id that systems reserve for programs without rights. */
const OTHER_USER = 65_534;
const DEMO_MS_MAX = 120_000;

type Variables = Readonly<Record<string, string | undefined>>;
type Row = { readonly folder: string; readonly user?: number; readonly shell?: string; readonly variables: Variables };

/** The things that have to work are combined, since each row is a demo of its own. */
const ROWS: Readonly<Record<string, Row>> = {
  'a proxy, LC_ALL=C, another time zone, 256 open files and a path with spaces and umlauts': {
    folder: 'Größe und Maß',
    shell: 'ulimit -n 256; ',
    variables: { LC_ALL: 'C', TZ: 'Pacific/Chatham' },
  },
  "a proxy with exceptions, another user than root, no HOME and the system's own Python": {
    folder: 'other-user',
    user: OTHER_USER,
    variables: { HOME: undefined, PATH: `/usr/bin${delimiter}/bin`, no_proxy: 'intranet.example' },
  },
};

/** In place of the example's program: it needs less time, and is a server that it sends a request to itself. */
const PROGRAM = `
import http.server, os, threading, urllib.request
server = http.server.HTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
for host in ('127.0.0.1', 'localhost'):
    assert urllib.request.urlopen(f'http://{host}:{server.server_port}/').status == 200
with open(os.path.join(os.environ['DROPFORGE_OUTPUT_DIR'], 'model.json'), 'w') as file:
    file.write('{}')
`;

/** Rejects every request, and records where it was to go. */
const proxied: string[] = [];
const proxy = createServer((request, response) => {
  proxied.push(request.url ?? '');
  response.writeHead(502).end();
}).on('connect', (request, socket) => {
  proxied.push(`https://${request.url}`);
  socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
});

let temporary: string;
beforeAll(async () => {
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  temporary = await mkdtemp(join(tmpdir(), 'dropforge-environments-'));
  // Another user searches it.
  await chmod(temporary, 0o755);
});
afterAll(async () => {
  proxy.closeAllConnections();
  proxy.close();
  await rm(temporary, { recursive: true, force: true });
});

describe('the demo trains its model, and connects to this machine without the proxy, with', () => {
  it.concurrent.each(Object.entries(ROWS))('%s', async (_name, { folder, user, shell = '', variables }) => {
    const uid = user !== undefined && mayBecomeOther() ? user : undefined;
    const clone = await copyCheckout(folder, uid);
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const names = ['http_proxy', 'https_proxy', 'all_proxy'].flatMap((name) => [name, name.toUpperCase()]);
    const { NO_PROXY: _, no_proxy: __, NODE_USE_ENV_PROXY: ___, ...own } = process.env;
    const child = spawn('sh', ['-c', `${shell}exec "$@"`, 'sh', process.execPath, 'cli/main.ts', 'demo'], {
      cwd: clone,
      env: { ...own, ...Object.fromEntries(names.map((name) => [name, url])), NODE_USE_ENV_PROXY: '1', ...variables },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: DEMO_MS_MAX,
      ...(uid !== undefined && { uid, gid: uid }),
    });
    const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
    expect({ code, output, errors }).toMatchObject({ code: 0, output: expect.stringContaining('none running') });
    const [jobId = ''] = await readdir(join(clone, '.dropforge/demo/results'));
    expect(await readdir(join(clone, '.dropforge/demo/results', jobId))).toContain('model.json');
    expect(proxied.filter((target) => isLoopback(new URL(target).hostname))).toEqual([]);
  });
});

/** A checkout of the same sources and packages, as that user would have cloned it. */
async function copyCheckout(folder: string, uid: number | undefined): Promise<string> {
  const clone = join(temporary, folder);
  await mkdir(clone);
  for (const name of COPIED) {
    await cp(join(ROOT, name), join(clone, name), { recursive: true });
  }
  await writeFile(join(clone, 'examples/digits/trainer/task.py'), PROGRAM);
  await symlink(join(ROOT, 'node_modules'), join(clone, 'node_modules'));
  if (uid !== undefined) {
    await chown(clone, uid, uid);
  }
  return clone;
}

/** Only root can start programs as another user, who must be able to read the packages. */
function mayBecomeOther(): boolean {
  for (let path = join(ROOT, 'node_modules'); path !== dirname(path); path = dirname(path)) {
    if ((statSync(path).mode & 0o5) !== 0o5) {
      return false;
    }
  }
  return process.getuid?.() === 0;
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || (isIP(host) === 4 && host.startsWith('127.'));
}
