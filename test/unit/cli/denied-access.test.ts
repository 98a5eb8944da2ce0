import { createServer } from 'node:http';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { describeDenial } from '#cli/client/describe-denial.ts';
import { requestJson } from '#cli/client/request-json.ts';
import { closeServer, HOST, listen } from '#infra/embedded/http/server.ts';

const tokenOf = (email: string) => `h.${Buffer.from(JSON.stringify({ email })).toString('base64url')}.s`;

/** The message of the CLI if the API's service answers a request with this token so, without reaching the API. */
async function messageFor(status: number, token: string, headers: Readonly<Record<string, string>> = {}) {
  const server = createServer((_, response) => response.writeHead(status, headers).end('<html>Denied</html>'));
  const port = await listen(server, 0);
  const remedies = { unreachable: '', denied: describeDenial };
  const sent = { authorization: `Bearer ${token}` };
  const failure = await requestJson(`http://${HOST}:${port}/v1/jobs`, z.any(), { headers: sent, remedies }).catch(
    String,
  );
  await closeServer(server);
  return failure;
}

it.each([
  ['ada@example.com', 'user:ada@example.com'],
  ['ci@p.iam.gserviceaccount.com', 'serviceAccount:ci@p.iam.gserviceaccount.com'],
])('403 names the entry of api_access that %s lacks', async (email, member) => {
  const message = await messageFor(403, tokenOf(email));
  expect(message).toContain(`denied access (403): ${email} may not call the API.`);
  expect(message).toContain(`api_access = { members = ["${member}"] }`);
});

it('401 names the account whose token was not accepted, and how to log in', async () => {
  const message = await messageFor(401, tokenOf('ada@example.com'));
  expect(message).toContain('denied access (401): Cloud Run did not accept the identity token of ada@example.com.');
  expect(message).toContain('`gcloud auth login`');
  expect(message).toContain('output -json deployment');
});

it.each([401, 403])('%i of Identity-Aware Proxy names the proxy, which no login passes', async (status) => {
  const message = await messageFor(status, tokenOf('ada@example.com'), { 'x-goog-iap-generated-response': 'true' });
  expect(message).toContain('Identity-Aware Proxy is on for the service of the API');
  expect(message).toContain('page_access');
  expect(message).not.toContain('gcloud auth login');
});

it('a token that cannot be read is not shown', async () => {
  expect(await messageFor(403, 'secret')).not.toContain('secret');
});
