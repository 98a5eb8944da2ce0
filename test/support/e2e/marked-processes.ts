import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/**
 * Finds the processes whose environment or command line contains this cloud's directory: its VMs and their descendants.
 */
export async function findMarkedProcesses(dataDir: string): Promise<readonly string[]> {
  const { stdout } = await promisify(execFile)('ps', ['axeww', '-o', 'pid=,command='], { maxBuffer: 64 * 2 ** 20 });
  return stdout.split('\n').filter((line) => line.includes(`${dataDir}/vms/`) && !/^\s*\d+\s+ps /.test(line));
}
