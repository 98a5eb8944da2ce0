/** How a registry knows the control plane. */
export type RegistryCredentials = {
  /** For messages: `the secret ghcr-reader`, `the service account a@b`. Null for an anonymous request. */
  readonly identity: string | null;
  readonly login:
    | { readonly kind: 'ANONYMOUS' }
    | { readonly kind: 'PASSWORD'; readonly userAndPassword: string }
    /** An access token, which the registry accepts by itself. */
    | { readonly kind: 'TOKEN'; readonly token: string };
  /** The host of the registry's token service, if it is another one that this deployment trusts. */
  readonly tokenHost?: string | undefined;
};

/** The credentials for a registry, by its host as images name it: `ghcr.io`. */
export type CredentialsOf = (host: string) => Promise<RegistryCredentials>;

export const ANONYMOUS: RegistryCredentials = { identity: null, login: { kind: 'ANONYMOUS' } };
