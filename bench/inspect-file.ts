import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import type { PackageSource } from '#shared/package/archive/package-source.ts';
import { inspectPackage } from '#shared/package/inspect-package.ts';

async function fileSource(path: string): Promise<PackageSource> {
  const { size } = await stat(path);
  return {
    name: basename(path),
    sizeBytes: size,
    open: async () => createReadStream(path),
    async readRange({ startByte, endByte }) {
      const file = await open(path);
      try {
        const { buffer, bytesRead } = await file.read(
          Buffer.alloc(endByte - startByte),
          0,
          endByte - startByte,
          startByte,
        );
        return buffer.subarray(0, bytesRead);
      } finally {
        await file.close();
      }
    },
  };
}

/** Runs one inspection in its own process and prints the result as JSON, with the peak memory and CPU time of the process. */
async function main(path: string): Promise<void> {
  const { entryCount, problems } = await inspectPackage(await fileSource(path));
  const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
  const used = { peakMemoryBytes: maxRSS * 1_024, cpuSeconds: (userCPUTime + systemCPUTime) / 1e6 };
  process.stdout.write(JSON.stringify({ entryCount, problems: problems.map(({ code }) => code), ...used }));
}

await main(process.argv[2] ?? '');
