import { imageDiskBytesOf } from '#shared/domain/container.ts';
import type { VmConfig } from '#shared/protocol/vm-config.ts';
import { configure } from '../agent/vm-agent-cloud.ts';
import { startMachineForEachTest } from '../agent/vm-agent-machine.ts';
import type { EngineUnderTest } from './engine-under-test.ts';
import { pushConfig } from './push-layers.ts';
import { startRegistryUnderTest } from './registry-under-test.ts';
import { buildTestImage, type ImageBase, type ImageOptions } from './test-image.ts';

type Package = Parameters<typeof configure>[1][number];
type Container = NonNullable<VmConfig['container']>;

/** The instance id that the metadata server of the tests returns. */
const INSTANCE_ID = '4570452845155348778';

export type Run = {
  readonly image: string;
  readonly argv: readonly string[];
  readonly user?: string;
  readonly workingDir?: string;
  readonly packages?: readonly Package[];
  readonly change?: (config: VmConfig) => Partial<VmConfig>;
};

/** An agent's machine for each test, whose programs run in containers of this engine. */
export function startContainerMachineForEachTest(engine: EngineUnderTest) {
  const local = startMachineForEachTest();
  const images = new Map<string, string>();
  let registry: Awaited<ReturnType<typeof startRegistryUnderTest>> | undefined;

  return {
    ...local,
    /** Builds an image once, pushes it, and returns its pinned reference. */
    async image(name: string, base: ImageBase, options: ImageOptions = {}): Promise<string> {
      registry ??= await startRegistryUnderTest();
      const known = images.get(name);
      const pinned = known ?? (await registry.push(engine, await buildTestImage(engine, base, options), name));
      const pushed = known ?? (options.config === undefined ? pinned : await pushConfig(pinned, options.config));
      images.set(name, pushed);
      return pushed;
    },
    /** Boots the machine with a program that is a container. */
    boot({ image, argv, user = '', workingDir = '', packages = [], change = () => ({}) }: Run) {
      const sizeBytes = 50_000_000;
      const container: Container = {
        ...{ image, sizeBytes, ...imageDiskBytesOf({ sizeBytes }), argv, user, workingDirectory: workingDir },
        ...{ credentials: 'NONE', credentialsSecret: null },
      };
      configure(local.cloud(), packages, (config) => {
        const contained = { ...config, spec: { ...config.spec, module: '', args: [] }, container };
        return { ...contained, ...change(contained) };
      });
      return this.reboot();
    },
    reboot: () => local.machine().boot(engine.environment),
    /** The machine's containers that are left, of any state. */
    async list(): Promise<readonly string[]> {
      const filter = `label=dropforge.vm=${INSTANCE_ID}@${local.machine().home}`;
      return (await engine.run(['ps', '--all', '--quiet', '--filter', filter])).split('\n').filter(Boolean);
    },
    /** Stops the registry, and deletes the images that the engine has pulled. */
    async stop() {
      await registry?.stop();
      if (images.size > 0) {
        await engine.run(['image', 'rm', '--force', ...images.values()]);
      }
    },
  };
}
