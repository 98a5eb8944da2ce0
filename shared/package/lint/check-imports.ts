import { printablePath } from '#shared/package/archive/package-problem.ts';
import type { LintSubject } from '#shared/package/lint/lint-subject.ts';
import type { LintFinding } from '#shared/package/lint/package-checks.ts';
import { requirementFilesOf } from '#shared/package/lint/requirement.ts';
import { nameOfRequirement, normalizeName } from '#shared/package/metadata/core-metadata.ts';
import type { OutsideImport } from '#shared/package/metadata/reachable-imports.ts';
import { distributionOf, isStandardModule, modulesOf, removalOf } from '#shared/python/python-packages.ts';

/** Lines of requirements files that bring no package: comments, options of pip, the project itself. */
const BRINGS_NOTHING =
  /^(?:#|$|--(?!requirement|editable)|-[ifc]\b|(?:(?:-e|--editable)[ =])?(?:file:)?\.(?:\/|\[[^\]]*\])*\s*(?:[#;]|$))/;
/** A requirement by its name; other lines may bring anything. */
const NAMED = /^[A-Za-z0-9][\w.-]*\s*(?:$|[[<>=!~;(@#,])/;

/**
 * MISSING_MODULE: warning if starting the program certainly imports a module (`findOutsideImports`) that neither Python,
 * the package, its requirements with what they require, nor the machine image bring. Not reported
 * - if the image's packages are unknown, or not every source was scanned;
 * - if a requirement is unknown, computed, a URL or a file, because it may bring any module;
 * - if a source installs packages itself;
 * - for a module of an unknown distribution, if a source changes `sys.path`.
 */
export function checkImports(subject: LintSubject): LintFinding[] {
  const { packages, program, pythonVersion, isWholeProgram } = subject;
  const brought = isWholeProgram && pythonVersion !== null ? findBrought(subject) : null;
  const traits = packages.flatMap(({ evidence }) => [...evidence.traits]);
  if (brought === null || pythonVersion === null || traits.includes('INSTALLS')) {
    return [];
  }
  const others = new Set(packages.flatMap(({ pythonModules }) => pythonModules.map((name) => name.split('.')[0])));
  const buildText = packages.map(({ evidence }) => evidence.buildText.toLowerCase()).join('\n');
  const found = packages
    .flatMap((report) => report.programOf(program.module).findOutsideImports())
    .flatMap((one): LintFinding[] => {
      const top = one.names.at(-1) ?? '';
      const isBrought = others.has(top) || one.names.some((name) => brought.has(name));
      if (isBrought || isStandardModule(top, pythonVersion)) {
        return [];
      }
      const module = one.names.find((name) => distributionOf(name) !== undefined) ?? top;
      const distribution = distributionOf(module);
      const isMentioned = [module, distribution].some(
        (name) => name !== undefined && buildText.includes(name.toLowerCase()),
      );
      const isUncertain = distribution === undefined && (top === 'google' || traits.includes('SYS_PATH'));
      return isMentioned || isUncertain ? [] : [findingOf(one, { module, distribution, pythonVersion })];
    });
  return [...new Map(found.map((finding) => [finding.remedy, finding])).values()];
}

/** The modules of requirements and image; null if they may have any module. */
function findBrought({ packages, program, requirements, imagePackages }: LintSubject): ReadonlySet<string> | null {
  const isUnknown = packages.some((report) => {
    const files = requirementFilesOf(report, program.module);
    const needed = [...report.requirements, ...report.programOf(program.module).requirements];
    const lines = [...needed, ...(files ?? []).flatMap(({ text }) => text.split('\n'))].map((line) => line.trim());
    return (
      report.evidence.hasComputedRequirements ||
      files === null ||
      lines.some((line) => !BRINGS_NOTHING.test(line) && !NAMED.test(line))
    );
  });
  const names = packages.flatMap(({ name }) => (name === null ? [] : [normalizeName(name)]));
  const required = requirements.map(({ name }) => name).filter((name) => !names.includes(name));
  return imagePackages === null || isUnknown ? null : modulesOf([...imagePackages.map(nameOfRequirement), ...required]);
}

type Missing = {
  readonly module: string;
  readonly distribution: string | undefined;
  readonly pythonVersion: string;
};

function findingOf({ path, line }: OutsideImport, { module, distribution, pythonVersion }: Missing): LintFinding {
  const removed = removalOf(module, pythonVersion);
  const shown = printablePath(module);
  const reason =
    removed === null
      ? `neither Python ${pythonVersion}, the package, its requirements nor the machine image bring`
      : `Python has not had since ${removed}`;
  const other = `Add its file to the package, or what brings ${shown} to install_requires or requirements.txt.`;
  return {
    code: 'MISSING_MODULE',
    severity: 'WARNING',
    message: `${printablePath(path)}, line ${line}, imports ${shown}, which ${reason}.`,
    remedy:
      removed !== null
        ? `Replace ${shown}; docs.python.org/${removed === '3.0' ? '3/howto/pyporting' : `3/whatsnew/${removed}`} says by what.`
        : distribution === undefined
          ? other
          : `Add ${distribution}${distribution === module ? '' : `, which brings ${shown},`} to install_requires or requirements.txt.`,
    path: printablePath(path),
    line,
  };
}
