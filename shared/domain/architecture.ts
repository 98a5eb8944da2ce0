/** The architectures of processors, in the names of container registries. */
export type Architecture = 'amd64' | 'arm64';

/** Compute Engine's names of architectures (API, Image.architecture), which Terraform and its messages have. */
export const COMPUTE_ARCHITECTURES = { amd64: 'X86_64', arm64: 'ARM64' } as const satisfies Readonly<
  Record<Architecture, string>
>;

/** The architecture with Compute Engine's name. */
export function architectureFrom(name: (typeof COMPUTE_ARCHITECTURES)[Architecture]): Architecture {
  return name === COMPUTE_ARCHITECTURES.arm64 ? 'arm64' : 'amd64';
}
