import { describe, expect, it } from 'vitest';
import { isGoogleRegistry, parseImageReference, pinnedUriOf } from '#shared/domain/image-reference.ts';

const DIGEST = `sha256:${'0a'.repeat(32)}`;

describe('the reference of an image', () => {
  it.each([
    ['ubuntu', 'docker.io', 'library/ubuntu', 'latest', null],
    ['ubuntu:22.04', 'docker.io', 'library/ubuntu', '22.04', null],
    ['pytorch/pytorch:2.8', 'docker.io', 'pytorch/pytorch', '2.8', null],
    ['docker.io/ubuntu', 'docker.io', 'library/ubuntu', 'latest', null],
    ['index.docker.io/library/ubuntu', 'docker.io', 'library/ubuntu', 'latest', null],
    ['registry-1.docker.io/a/b', 'docker.io', 'a/b', 'latest', null],
    ['GHCR.io/owner/name:main', 'ghcr.io', 'owner/name', 'main', null],
    ['localhost/a', 'localhost', 'a', 'latest', null],
    ['localhost:5000/a/b', 'localhost:5000', 'a/b', 'latest', null],
    ['registry:5000/a', 'registry:5000', 'a', 'latest', null],
    ['127.0.0.1:5000/a', '127.0.0.1:5000', 'a', 'latest', null],
    ['us-docker.pkg.dev/p/r/i:1', 'us-docker.pkg.dev', 'p/r/i', '1', null],
    ['gcr.io/example.com:acme/digits', 'gcr.io', 'example.com/acme/digits', 'latest', null],
    [`gcr.io/acme/digits@${DIGEST}`, 'gcr.io', 'acme/digits', null, DIGEST],
    [`gcr.io/acme/digits:1@${DIGEST}`, 'gcr.io', 'acme/digits', '1', DIGEST],
    ['a__b/c-d--e/f.g', 'docker.io', 'a__b/c-d--e/f.g', 'latest', null],
  ])('%s is read with the defaults of Docker', (...[text, host, repository, tag, digest]) => {
    expect(parseImageReference(text)).toEqual({ host, repository, tag, digest });
  });

  it.each([
    '',
    'two words',
    'https://gcr.io/a/b',
    'gcr.io/a/',
    'gcr.io//a',
    'gcr.io/a/Upper',
    'gcr.io/a:',
    'gcr.io/a:b:c',
    'a@latest',
    `a@${DIGEST.slice(0, -1)}`,
    `a@sha512:${'0a'.repeat(64)}`,
    `a@${DIGEST}@${DIGEST}`,
    'gcr.io/../v2/token',
    'gcr.io/a?x=y',
    'gcr.io/a#b',
    'gcr.io/a%2fb',
    'user:password@gcr.io/a',
    'gcr.io:99999999/a',
    'gcr.io:65536/a',
    `gcr.io/${'a/'.repeat(300)}a`,
  ])('%s is not valid', (text) => {
    expect(parseImageReference(text)).toBeUndefined();
  });

  it('is pinned by the digest alone', () => {
    const reference = parseImageReference('ubuntu:22.04');
    expect(reference && pinnedUriOf(reference, DIGEST)).toBe(`docker.io/library/ubuntu@${DIGEST}`);
  });
});

describe('a registry of Google', () => {
  it.each(['gcr.io', 'eu.gcr.io', 'us-docker.pkg.dev', 'europe-west4-docker.pkg.dev'])('is %s', (host) => {
    expect(isGoogleRegistry(host)).toBe(true);
  });

  it.each([
    'docker.io',
    'gcr.io:443',
    'gcr.io.example.com',
    'a.b.gcr.io',
    'notgcr.io',
    'pkg.dev',
    'us-python.pkg.dev',
    'evil.us-docker.pkg.dev',
    'us-docker.pkg.dev.evil.com',
  ])('is not %s, which gets no token of a Google account', (host) => {
    expect(isGoogleRegistry(host)).toBe(false);
  });
});
