/** The names that programs usually have. */
const PROGRAM = /(^|\.)(task|train|main|run)$/;

/**
 * A job file for a package without one, with the module that is probably its program. A file of a Python package is
 * listed under several names: the longest one also finds the modules that it imports relative to its package.
 */
export function proposeJobFile(modules: readonly string[]): string {
  const depthOf = (module: string) => module.split('.').length;
  const programs = modules.filter((module) => PROGRAM.test(module));
  const candidates = programs.length > 0 ? programs : modules;
  const [program = 'trainer.task'] = candidates.toSorted((one, other) => depthOf(other) - depthOf(one));
  return `name: my_training\nmodule: ${program}\nmachine: n1-standard-4\n# gpu: T4\n# spot: true\n`;
}
