import { chmod, mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { issueCertificates, type ProxyCertificates } from '#infra/embedded/vm-proxy/certificates.ts';

/** The files that a VM's environment names; both exist before its first process starts. */
export type TrustFiles = {
  /** The certificate authorities of this machine, then the proxy's. */
  readonly bundle: string;
  /** The proxy's certificate authority alone. */
  readonly authority: string;
};

export type HostCertificate = Pick<ProxyCertificates, 'certificate' | 'privateKey'>;

/** Variables of this machine that name its certificate authorities: a file, or for some a directory. */
const AUTHORITY_VARIABLES = ['SSL_CERT_FILE', 'REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE', 'NODE_EXTRA_CA_CERTS'];

/** Debian, Fedora, Alpine and macOS. */
const SYSTEM_BUNDLES = ['/etc/ssl/certs/ca-certificates.crt', '/etc/pki/tls/certs/ca-bundle.crt', '/etc/ssl/cert.pem'];

const AUTHORITY_BYTES_MAX = 16_777_216;

export function trustFilesOf(directory: string): TrustFiles {
  return { bundle: join(directory, 'bundle.pem'), authority: join(directory, 'authority.pem') };
}

/**
 * Issues the certificate of a VM's proxy at a boot of the VM, and writes the files by which its programs trust it.
 * Certificate and key are kept for the next start of the embedded cloud, while the VM runs on.
 */
export async function renewTrust(directory: string, environment: NodeJS.ProcessEnv): Promise<HostCertificate> {
  const issued = await issueCertificates(Date.now());
  const files = trustFilesOf(directory);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await writeFile(files.authority, issued.authority);
  await writeFile(files.bundle, `${await readMachineAuthorities(environment)}\n${issued.authority}`);
  const draft = `${certificateFileOf(directory)}.new`;
  await writeFile(draft, `${issued.certificate}${issued.privateKey}`, { mode: 0o600 });
  await chmod(draft, 0o600);
  await rename(draft, certificateFileOf(directory));
  return issued;
}

/** The certificate of the VM's last boot; undefined if the VM's directory has none. */
export async function readTrust(directory: string): Promise<HostCertificate | undefined> {
  const text = await readFile(certificateFileOf(directory), 'utf8').catch(() => '');
  const [certificate, privateKey] = ['CERTIFICATE', 'PRIVATE KEY'].map(
    (label) => new RegExp(`-----BEGIN ${label}-----[^]+?-----END ${label}-----\n`).exec(text)?.[0],
  );
  return certificate === undefined || privateKey === undefined ? undefined : { certificate, privateKey };
}

const certificateFileOf = (directory: string) => join(directory, 'certificate.pem');

/** All authorities that this machine's settings name; without settings its system's, or else Mozilla's by Node.js. */
async function readMachineAuthorities(environment: NodeJS.ProcessEnv): Promise<string> {
  const named = new Set(AUTHORITY_VARIABLES.flatMap((name) => environment[name] ?? []));
  const system = await readFirst(SYSTEM_BUNDLES);
  const configured = await Promise.all([...named].map(readAuthorities));
  return [system ?? rootCertificates.join('\n'), ...configured].join('\n');
}

async function readFirst(paths: readonly string[]): Promise<string | undefined> {
  for (const path of paths) {
    const text = await readAuthorities(path);
    if (text !== '') {
      return text;
    }
  }
  return undefined;
}

/** The PEM certificates of a file, or of all files of a directory; empty if it cannot be read. */
async function readAuthorities(path: string): Promise<string> {
  try {
    const found = await stat(path);
    if (found.isDirectory()) {
      const names = (await readdir(path)).toSorted();
      return (await Promise.all(names.map((name) => readFile(join(path, name), 'utf8').catch(() => '')))).join('\n');
    }
    return found.size > AUTHORITY_BYTES_MAX ? '' : await readFile(path, 'utf8');
  } catch {
    // The machine's own programs could not read it either.
    return '';
  }
}
