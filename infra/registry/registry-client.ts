import { setTimeout as delay } from 'node:timers/promises';
import * as z from 'zod';
import { PrivateAddressError, resolvesNames } from '#infra/network/addresses.ts';
import { readRetryAfterMs } from '#infra/network/retry-after.ts';
import { readChallenge, tokenUrlOf } from '#infra/registry/challenge.ts';
import {
  AddressRefusedError,
  BodyTooLargeError,
  type GetAnswer,
  get,
  isLoopbackHost,
  type RegistryNetwork,
} from '#infra/registry/http-get.ts';
import type { RegistryCredentials } from '#infra/registry/registry-credentials.ts';
import type { ImageReference } from '#shared/domain/image-reference.ts';
import { findPerimeterDenial } from '#shared/domain/perimeter-denial.ts';
import { type ImageRejection, RegistryUnavailableError } from '#shared/ports/image-registry.ts';
import { parseJson } from '#shared/protocol/parse-json.ts';

export type RegistryLimits = RegistryNetwork & {
  /** Pauses before a request is repeated after a fault of the network or the registry. */
  readonly retryDelaysMs: readonly number[];
  /** The longest pause that a registry can ask for (Retry-After); it is unavailable if it asks for more. */
  readonly retryAfterMsMax: number;
};

/** Thrown when the registry rejects the image, or what it answers cannot be accepted. */
export class RejectedError extends Error {
  readonly rejection: ImageRejection;

  constructor(rejection: ImageRejection) {
    super(rejection.reason);
    this.rejection = rejection;
  }
}

export type RegistryRequest = {
  /** Below `/v2/`: `team/digits/manifests/1`. */
  readonly path: string;
  readonly accept: string;
  readonly bytesMax: number;
};

export type RegistryClient = {
  /** Answers of status 200 and 404. Throws RejectedError and RegistryUnavailableError. */
  get(request: RegistryRequest): Promise<Pick<GetAnswer, 'status' | 'headers' | 'body'>>;
};

const TOKEN_BYTES_MAX = 64 << 10;
const tokenSchema = z.object({ token: z.string().optional(), access_token: z.string().optional() });

/** Docker Hub's registry has another host than its images are named after. */
const API_HOSTS: Readonly<Record<string, string>> = { 'docker.io': 'registry-1.docker.io' };

/** Has an address wherever names of the Internet are resolved. */
const KNOWN_HOST = 'registry-1.docker.io';

/** Errors of certificates and protocols: another attempt would end in the same. */
const FINAL_CODES: readonly RegExp[] = [/CERT/, /^ERR_TLS/, /^HPE_/, /SELF_SIGNED/, /UNABLE_TO/];

/**
 * Reads one repository of a registry; the token that it gets there is kept for the requests that follow. Throws
 * RejectedError.
 */
export function createRegistryClient(
  { host, repository }: ImageReference,
  credentials: RegistryCredentials,
  limits: RegistryLimits,
): RegistryClient {
  const base = apiUrlOf(host, limits);
  const { identity, login, tokenHost } = credentials;
  const denied = () => new RejectedError({ reason: 'ACCESS_DENIED', identity });
  const basic =
    login.kind === 'PASSWORD' ? `Basic ${Buffer.from(login.userAndPassword).toString('base64')}` : undefined;
  let authorization = login.kind === 'TOKEN' ? `Bearer ${login.token}` : undefined;

  async function send(url: URL, bytesMax: number, headers: Readonly<Record<string, string | undefined>>) {
    const given = Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
    const options = { headers: Object.fromEntries(given) as Record<string, string>, bytesMax };
    return getRepeatedly(url, { host, limits, options });
  }

  /** The header for an answer of 401; throws if there is none that could help. */
  async function authorize(header: string | undefined): Promise<string> {
    const challenge = readChallenge(header);
    if (challenge === null || login.kind === 'TOKEN') {
      throw denied();
    }
    if (challenge.scheme === 'BASIC') {
      if (basic === undefined) {
        throw denied();
      }
      return basic;
    }
    const url = tokenUrlOf(challenge, { host, url: base, tokenHost }, repository);
    if (url === undefined) {
      const detail = 'names a token service of another host, which this deployment does not trust';
      throw new RejectedError({ reason: 'REGISTRY', detail });
    }
    const { status, body } = await send(url, TOKEN_BYTES_MAX, { authorization: basic, accept: 'application/json' });
    const parsed = tokenSchema.safeParse(parseJson(body.toString('utf8'))).data;
    const token = parsed?.token ?? parsed?.access_token;
    if (status !== 200 || token === undefined || !/^[\x21-\x7e]+$/.test(token)) {
      throw denied();
    }
    return `Bearer ${token}`;
  }

  return {
    async get({ path, accept, bytesMax }) {
      const url = new URL(path, base);
      let answer = await send(url, bytesMax, { accept, authorization });
      if (answer.status === 401 && !answer.isElsewhere) {
        const known = authorization;
        authorization = await authorize(answer.headers['www-authenticate']);
        answer = authorization === known ? answer : await send(url, bytesMax, { accept, authorization });
      }
      const denial = answer.status === 403 ? findPerimeterDenial(answer.body.toString('utf8')) : null;
      if (denial !== null) {
        throw new RejectedError({ reason: 'PERIMETER_DENIED', denial });
      }
      if (answer.status === 401 || answer.status === 403) {
        throw denied();
      }
      if (answer.status !== 200 && answer.status !== 404) {
        throw new RejectedError({ reason: 'REGISTRY', detail: `answered with the status ${answer.status}` });
      }
      return answer;
    },
  };
}

/** Throws RejectedError. */
function apiUrlOf(host: string, { allowsPrivateAddresses }: RegistryNetwork): URL {
  const apiHost = API_HOSTS[host] ?? host;
  const isPlain = allowsPrivateAddresses && isLoopbackHost(apiHost.replace(/:\d+$/, ''));
  const url = URL.parse(`${isPlain ? 'http' : 'https'}://${apiHost}/v2/`);
  if (url === null) {
    throw new RejectedError({ reason: 'REGISTRY', detail: 'is not a valid host name' });
  }
  return url;
}

type Repeated = {
  readonly host: string;
  readonly limits: RegistryLimits;
  readonly options: Parameters<typeof get>[1];
};

/** Repeats a request after a fault of the network, an error of the server, and a limit on the rate. */
async function getRepeatedly(url: URL, { host, limits, options }: Repeated): Promise<GetAnswer> {
  for (let attempt = 0; ; attempt += 1) {
    const answer = await tryToGet(url, options, limits);
    if ('status' in answer && answer.status !== 429 && answer.status < 500) {
      return answer;
    }
    const pauseMs = limits.retryDelaysMs[attempt];
    const askedMs = 'status' in answer ? (readRetryAfterMs(answer.headers['retry-after']) ?? 0) : 0;
    if (pauseMs === undefined || askedMs > limits.retryAfterMsMax) {
      throw new RegistryUnavailableError(host, 'status' in answer ? describeStatus(answer.status) : answer.problem);
    }
    await delay(Math.max(pauseMs, askedMs));
  }
}

function describeStatus(status: number): string {
  return status === 429
    ? 'limits the rate of requests (status 429)'
    : `failed to answer (status ${status}) several times`;
}

/** An answer, or a transient fault. Throws RejectedError for what another attempt would not change. */
async function tryToGet(
  url: URL,
  options: Repeated['options'],
  limits: RegistryLimits,
): Promise<GetAnswer | { readonly problem: string }> {
  try {
    return await get(url, options, limits);
  } catch (error) {
    const { name, code } = Object(error) as { readonly name?: string; readonly code?: string };
    const reject = (detail: string) => new RejectedError({ reason: 'REGISTRY', detail });
    if (error instanceof PrivateAddressError) {
      throw reject('leads to an address that is not public, which is not called');
    }
    if (error instanceof AddressRefusedError) {
      throw reject(`${error.message}, which is not called`);
    }
    if (error instanceof BodyTooLargeError) {
      throw reject(`answered with ${error.message}`);
    }
    if (code === 'ENOTFOUND') {
      if (await resolvesNames(KNOWN_HOST, limits.lookup)) {
        throw reject('does not exist: its name has no address');
      }
      return { problem: `could not be found, nor could ${KNOWN_HOST}: the DNS of this machine may not work` };
    }
    if (FINAL_CODES.some((pattern) => pattern.test(code ?? ''))) {
      throw reject(`could not be asked (${code})`);
    }
    const isLate = name === 'AbortError' || name === 'TimeoutError' || code === 'ABORT_ERR';
    return {
      problem: isLate
        ? `did not answer within ${limits.timeoutMs / 1_000} s`
        : `could not be reached (${code ?? name ?? 'error'})`,
    };
  }
}
