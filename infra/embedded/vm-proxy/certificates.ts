import { randomBytes } from 'node:crypto';
import type { Extension } from '@peculiar/x509';

/** PEM texts. The authority's private key is not among them: it is forgotten as soon as the certificate is signed. */
export type ProxyCertificates = {
  readonly authority: string;
  readonly certificate: string;
  readonly privateKey: string;
};

/** The domains that the authority may vouch for, each with its subdomains. */
const DOMAINS = ['googleapis.com', 'accounts.google.com'];

/** A wildcard covers one label. */
const HOSTS = [
  'accounts.google.com',
  'googleapis.com',
  '*.googleapis.com',
  '*.storage.googleapis.com',
  '*.mtls.googleapis.com',
];

/** Longer than any VM runs between two boots; at most 398 days, the limit of some clients. */
const VALID_DAYS = 397;

/** For clocks that differ slightly, as on VMs of another machine. */
const BACKDATED_DAYS = 1;
const DAY_MS = 86_400_000;

const KEY_ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

/**
 * Issues a certificate for Google's hosts by a new authority with a critical name constraint (RFC 5280, section
 * 4.2.1.10): a client that trusts it trusts it for no other host.
 */
export async function issueCertificates(now: number): Promise<ProxyCertificates> {
  // Loaded here because it takes 0.1 s, which starting the embedded cloud need not wait for.
  await import('reflect-metadata');
  const x509 = await import('@peculiar/x509');
  const [authorityKeys, hostKeys] = await Promise.all([generateKeys(), generateKeys()]);
  const validity = {
    notBefore: new Date(now - BACKDATED_DAYS * DAY_MS),
    notAfter: new Date(now + VALID_DAYS * DAY_MS),
  };
  const issuer = 'CN=Dropforge embedded cloud';
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    ...validity,
    serialNumber: newSerialNumber(),
    name: issuer,
    keys: authorityKeys,
    signingAlgorithm: KEY_ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await createNameConstraints(),
      await x509.SubjectKeyIdentifierExtension.create(authorityKeys.publicKey),
    ],
  });
  const certificate = await x509.X509CertificateGenerator.create({
    ...validity,
    serialNumber: newSerialNumber(),
    subject: 'CN=storage.googleapis.com',
    issuer,
    publicKey: hostKeys.publicKey,
    signingKey: authorityKeys.privateKey,
    signingAlgorithm: KEY_ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(HOSTS.map((value) => ({ type: 'dns' as const, value }))),
      await x509.AuthorityKeyIdentifierExtension.create(authorityKeys.publicKey),
      await x509.SubjectKeyIdentifierExtension.create(hostKeys.publicKey),
    ],
  });
  const privateKey = Buffer.from(await crypto.subtle.exportKey('pkcs8', hostKeys.privateKey));
  return {
    authority: toPem(authority.toString('pem')),
    certificate: toPem(certificate.toString('pem')),
    privateKey: toPem(x509.PemConverter.encode(privateKey, 'PRIVATE KEY')),
  };
}

async function createNameConstraints(): Promise<Extension> {
  const { Extension: X509Extension } = await import('@peculiar/x509');
  const { AsnConvert } = await import('@peculiar/asn1-schema');
  const { GeneralName, GeneralSubtree, GeneralSubtrees, id_ce_nameConstraints, NameConstraints } = await import(
    '@peculiar/asn1-x509'
  );
  const subtrees = DOMAINS.map((dNSName) => new GeneralSubtree({ base: new GeneralName({ dNSName }) }));
  const constraints = new NameConstraints({ permittedSubtrees: new GeneralSubtrees(subtrees) });
  return new X509Extension(id_ce_nameConstraints, true, AsnConvert.serialize(constraints));
}

async function generateKeys(): Promise<CryptoKeyPair> {
  return crypto.subtle.generateKey(KEY_ALGORITHM, true, ['sign', 'verify']);
}

/** Positive, 128 bits: a client that has seen another authority's certificate with the same number rejects it. */
const newSerialNumber = (): string => `01${randomBytes(15).toString('hex')}`;

const toPem = (text: string): string => `${text.trimEnd()}\n`;
