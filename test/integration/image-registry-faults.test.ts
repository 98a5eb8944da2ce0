import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { createImageRegistry, type ImageRegistryOptions } from '#infra/registry/image-registry.ts';
import { ANONYMOUS, type RegistryCredentials } from '#infra/registry/registry-credentials.ts';
import { parseImageReference } from '#shared/domain/image-reference.ts';
import { type ImageAnswer, RegistryUnavailableError } from '#shared/ports/image-registry.ts';
import { digestOf, imageOf } from '../support/containers/published-image.ts';
import { type ScriptedRegistry, startScriptedRegistry } from '../support/containers/scripted-registry.ts';

const { configuration } = imageOf();
const LAYER = { mediaType: 'application/vnd.oci.image.layer.v1.tar+gzip', size: 7 };
const LONGEST = { ...LAYER, size: Number.MAX_SAFE_INTEGER };
const IMAGE = {
  schemaVersion: 2,
  config: {
    mediaType: 'application/vnd.oci.image.config.v1+json',
    digest: digestOf(configuration),
    size: configuration.byteLength,
  },
  layers: [LAYER],
};
const MANIFEST = JSON.stringify(IMAGE);

const servers: ScriptedRegistry[] = [];
afterEach(() => Promise.all(servers.splice(0).map((server) => server.stop())));

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

async function serve(answer: Answer): Promise<ScriptedRegistry> {
  const server = await startScriptedRegistry(answer);
  servers.push(server);
  return server;
}

/** Answers as a registry that has the image. */
function giveImage({ url }: IncomingMessage, response: ServerResponse): void {
  response.end(url?.includes('/blobs/') ? configuration : MANIFEST);
}

type Asked = Partial<ImageRegistryOptions> & { readonly credentials?: RegistryCredentials };

function resolve(imageUri: string, { credentials = ANONYMOUS, ...options }: Asked = {}): Promise<ImageAnswer> {
  const limits = { allowsPrivateAddresses: true, timeoutMs: 2_000, retryDelaysMs: [1, 1], ...options };
  const registry = createImageRegistry(async () => credentials, limits);
  const reference = parseImageReference(imageUri);
  if (reference === undefined) {
    throw new Error(`${imageUri} is not an image reference`);
  }
  return registry.resolve({ reference, architecture: 'amd64' });
}

function rejectionOf(answer: ImageAnswer): unknown {
  return answer.kind === 'REJECTED' ? answer.rejection : answer.kind;
}

const LOGIN: RegistryCredentials = {
  identity: 'the secret s',
  login: { kind: 'PASSWORD', userAndPassword: 'user:hunter2' },
};
const BASIC = `Basic ${Buffer.from('user:hunter2').toString('base64')}`;

/** Demands a token of this realm, and accepts `good`. */
function demandToken(realm: (request: IncomingMessage) => string): Answer {
  return (request, response) => {
    if (request.url?.startsWith('/token')) {
      response.end(JSON.stringify({ token: 'good' }));
    } else if (request.headers.authorization === 'Bearer good') {
      giveImage(request, response);
    } else {
      response.setHeader('www-authenticate', `Bearer realm="${realm(request)}",service="s",scope="repository:x:push"`);
      response.writeHead(401).end();
    }
  };
}

describe('a token service', () => {
  it('gets the password, and is asked to let this repository be read', async () => {
    const { host, requests } = await serve(demandToken(({ headers }) => `http://${headers.host}/token`));
    expect(await resolve(`${host}/team/a:1`, { credentials: LOGIN })).toMatchObject({ kind: 'FOUND' });
    expect(requests).toEqual([
      'GET /v2/team/a/manifests/1',
      `GET /token?service=s&scope=repository%3Ateam%2Fa%3Apull ${BASIC}`,
      'GET /v2/team/a/manifests/1 Bearer good',
      expect.stringMatching(/^GET \/v2\/team\/a\/blobs\/sha256:\w+ Bearer good$/),
    ]);
  });

  it('of another host is neither called nor given a password', async () => {
    const other = await serve((_, response) => void response.end('{"token": "good"}'));
    const { host } = await serve(demandToken(() => `http://${other.host}/token`));
    for (const credentials of [LOGIN, ANONYMOUS]) {
      expect(rejectionOf(await resolve(`${host}/a`, { credentials }))).toMatchObject({ reason: 'REGISTRY' });
    }
    expect(other.requests).toEqual([]);
  });

  it.each(['http://169.254.169.254/token', 'http://metadata.google.internal/token', 'file:///etc/passwd', 'nonsense'])(
    'at %s is not called',
    async (realm) => {
      const { host, requests } = await serve(demandToken(() => realm));
      expect(rejectionOf(await resolve(`${host}/a`))).toMatchObject({ reason: 'REGISTRY' });
      expect(requests).toHaveLength(1);
    },
  );

  it('that rejects the password is reported with whose it is', async () => {
    const { host } = await serve((request, response) => {
      response.setHeader('www-authenticate', `Bearer realm="http://${request.headers.host}/token"`);
      response.writeHead(401).end();
    });
    expect(rejectionOf(await resolve(`${host}/a`, { credentials: LOGIN }))).toEqual({
      reason: 'ACCESS_DENIED',
      identity: 'the secret s',
    });
  });
});

describe('an access token', () => {
  it('is sent at once, and to no token service', async () => {
    const { host, requests } = await serve(demandToken(({ headers }) => `http://${headers.host}/token`));
    const credentials: RegistryCredentials = { identity: 'account a', login: { kind: 'TOKEN', token: 'bad' } };
    expect(rejectionOf(await resolve(`${host}/a`, { credentials }))).toEqual({
      reason: 'ACCESS_DENIED',
      identity: 'account a',
    });
    expect(requests).toEqual(['GET /v2/a/manifests/latest Bearer bad']);
  });
});

describe('a redirect', () => {
  const redirectBlobs =
    (location: string): Answer =>
    (request, response) => {
      if (request.url?.includes('/blobs/')) {
        response.writeHead(307, { location }).end();
      } else {
        giveImage(request, response);
      }
    };

  it('to another host is followed without the credentials', async () => {
    const storage = await serve(giveImage);
    const { host } = await serve(redirectBlobs(`http://${storage.host}/blobs/1`));
    const credentials: RegistryCredentials = { identity: 'a', login: { kind: 'TOKEN', token: 't' } };
    expect(await resolve(`${host}/a`, { credentials })).toMatchObject({ kind: 'FOUND' });
    expect(storage.requests).toEqual(['GET /blobs/1']);
  });

  it.each([
    'http://169.254.169.254/computeMetadata/v1/instance/service-accounts/default/token',
    'https://169.254.169.254/',
    'https://[fe80::1]/',
    'https://[::ffff:169.254.169.254]/',
    'http://10.0.0.1/',
    'https://user:password@example.com/',
    'file:///etc/passwd',
    'http://[broken',
  ])('to %s is not followed', async (location) => {
    const { host } = await serve(redirectBlobs(location));
    expect(rejectionOf(await resolve(`${host}/a`))).toMatchObject({ reason: 'REGISTRY' });
  });

  it('that leads in a circle ends', async () => {
    const { host, requests } = await serve((_, response) => void response.writeHead(302, { location: '/again' }).end());
    expect(rejectionOf(await resolve(`${host}/a`))).toMatchObject({ reason: 'REGISTRY' });
    expect(requests).toHaveLength(4);
  });
});

describe('on Google Cloud', () => {
  it.each(['127.0.0.1', 'localhost', '10.1.2.3', '169.254.169.254', '192.168.0.1'])(
    'an image of %s leads to no request',
    async (address) => {
      const server = await serve(giveImage);
      const host =
        address === 'localhost' || address === '127.0.0.1' ? server.host.replace('127.0.0.1', address) : address;
      const answer = await resolve(`${host}/a`, { allowsPrivateAddresses: false });
      expect(rejectionOf(answer)).toMatchObject({ reason: 'REGISTRY', detail: expect.stringContaining('not called') });
      expect(server.requests).toEqual([]);
    },
  );
});

describe('a registry that fails', () => {
  /** Answers with the first failures, then as it should. */
  function failing(failures: number, fail: (response: ServerResponse) => void): Answer {
    let left = failures;
    return (request, response) => {
      left -= 1;
      if (left >= 0) {
        fail(response);
      } else {
        giveImage(request, response);
      }
    };
  }
  const status = (code: number) => (response: ServerResponse) => {
    response.writeHead(code).end();
  };
  const close = (response: ServerResponse) => {
    response.destroy();
  };
  const cut = (response: ServerResponse) => {
    response.writeHead(200, { 'content-length': String(MANIFEST.length) });
    response.write(MANIFEST.slice(0, 10), () => response.destroy());
  };

  it.each([
    ['503', status(503)],
    ['429', status(429)],
    ['a cut answer', cut],
    ['a closed connection', close],
  ] as const)('with %s is asked again', async (_, fail) => {
    const { host } = await serve(failing(2, fail));
    expect(await resolve(`${host}/a`)).toMatchObject({ kind: 'FOUND' });
  });

  it.each([
    ['503', status(503), 'failed to answer (status 503)'],
    ['429', status(429), 'limits the rate of requests'],
    ['a cut answer', cut, 'could not be reached'],
    ['no answer', () => {}, 'did not answer within 0.2 s'],
  ] as const)('with %s every time is unavailable, which is no verdict on the image', async (_, fail, text) => {
    const { host } = await serve(failing(Infinity, fail));
    const error = await resolve(`${host}/a`, { timeoutMs: 200 }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RegistryUnavailableError);
    expect(String(error)).toContain(text);
  });

  it('is unavailable at once if it asks for a longer pause than there is time', async () => {
    const { host, requests } = await serve((_, response) => {
      response.writeHead(429, { 'retry-after': '900' }).end();
    });
    await expect(resolve(`${host}/a`)).rejects.toThrow('limits the rate of requests');
    expect(requests).toHaveLength(1);
  });

  it('is rejected if its name is not valid', async () => {
    expect(rejectionOf(await resolve('1.2.3.999/a'))).toEqual({
      reason: 'REGISTRY',
      detail: 'is not a valid host name',
    });
  });

  it('is unavailable if its port is closed', async () => {
    const { host } = await serve(giveImage);
    await Promise.all(servers.splice(0).map((server) => server.stop()));
    await expect(resolve(`${host}/a`)).rejects.toThrow(RegistryUnavailableError);
  });
});

describe('an answer', () => {
  it.each([
    ['a manifest of more than 4 MiB', ' '.repeat(5 << 20), 'REGISTRY'],
    ['a manifest of schema version 1', JSON.stringify({ schemaVersion: 1, fsLayers: [] }), 'FORMAT'],
    ['a page', '<html>', 'FORMAT'],
    ['both an index and an image', JSON.stringify({ ...JSON.parse(MANIFEST), manifests: [] }), 'FORMAT'],
    ['an index without an image', JSON.stringify({ manifests: [] }), 'PLATFORM'],
    ['layers of a negative size', MANIFEST.replace('"size":7', '"size":-7'), 'FORMAT'],
    ['layers whose sizes have no exact sum', JSON.stringify({ ...IMAGE, layers: [LONGEST, LONGEST] }), 'FORMAT'],
    ['1,001 layers', JSON.stringify({ ...IMAGE, layers: Array.from({ length: 1_001 }, () => LAYER) }), 'FORMAT'],
  ])('with %s rejects the image', async (_, body, reason) => {
    const { host } = await serve((__, response) => void response.end(body));
    expect(rejectionOf(await resolve(`${host}/a`))).toMatchObject({ reason });
  });

  it('with a configuration of more than 8 MiB rejects the image', async () => {
    const long = Buffer.alloc((8 << 20) + 1, ' ');
    const { host } = await serve(({ url }, response) => void response.end(url?.includes('/blobs/') ? long : MANIFEST));
    const detail = 'answered with more than 8388608 bytes';
    expect(rejectionOf(await resolve(`${host}/a`))).toEqual({ reason: 'REGISTRY', detail });
  });

  it('with other bytes than the digest names rejects the image', async () => {
    const { host } = await serve(giveImage);
    expect(rejectionOf(await resolve(`${host}/a@sha256:${'0'.repeat(64)}`))).toMatchObject({
      reason: 'REGISTRY',
      detail: expect.stringContaining('other bytes'),
    });
    const changed = await serve(
      ({ url }, response) =>
        void response.end(url?.includes('/blobs/') ? '{"os": "linux", "architecture": "amd64"}' : MANIFEST),
    );
    expect(rejectionOf(await resolve(`${changed.host}/a`))).toMatchObject({ reason: 'REGISTRY' });
  });
});

describe('a host without an address', () => {
  const answering =
    (known: Readonly<Record<string, string>>): NonNullable<ImageRegistryOptions['lookup']> =>
    (name, _options, callback) => {
      const code = known[name] ?? 'ENOTFOUND';
      callback(code === 'OK' ? null : Object.assign(new Error(code), { code }), []);
    };

  it('does not exist if other names have one', async () => {
    const lookup = answering({ 'registry-1.docker.io': 'OK' });
    expect(rejectionOf(await resolve('registry.typo.example/team/a:1', { lookup }))).toEqual({
      reason: 'REGISTRY',
      detail: 'does not exist: its name has no address',
    });
  });

  it.each([
    ['no name has one', {}, /nor could registry-1\.docker\.io: the DNS of this machine may not work/],
    ['names cannot be resolved now', { 'registry.typo.example': 'EAI_AGAIN' }, /could not be reached \(EAI_AGAIN\)/],
  ])('is unavailable if %s', async (_, known, message) => {
    const asked = resolve('registry.typo.example/team/a:1', { lookup: answering(known) });
    await expect(asked).rejects.toThrow(RegistryUnavailableError);
    await expect(asked).rejects.toThrow(message);
  });
});
