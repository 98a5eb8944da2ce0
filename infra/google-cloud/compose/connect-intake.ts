import type { SettingsOf } from '#functions/read-settings.ts';
import { connectEvents } from '#infra/google-cloud/compose/connect-events.ts';
import { connectObjects } from '#infra/google-cloud/compose/connect-objects.ts';
import { connectRegistry } from '#infra/google-cloud/compose/connect-registry.ts';
import { connectSecrets } from '#infra/google-cloud/compose/connect-secrets.ts';
import { vmLimitsOf } from '#infra/google-cloud/compose/vm-limits.ts';
import { findRuntime, MACHINE_IMAGE_DISK } from '#infra/google-cloud/compute-engine/boot-source.ts';
import { packagesOfImage } from '#infra/machine-image/image-packages.ts';
import { architectureOf } from '#shared/catalog/catalog.ts';
import { architectureFrom } from '#shared/domain/architecture.ts';
import type { Logger } from '#shared/observability/logger.ts';
import type { IntakeSettings } from '#shared/use-cases/intake/checks/intake-settings.ts';
import { missingTerraformLine } from '#shared/use-cases/intake/checks/missing-rights.ts';

/** The ports and settings that intake requires to validate a submission and create its job. */
export function connectIntake(settings: SettingsOf<'on-upload'>, logger: Logger) {
  const images = settings.RUNTIME_IMAGES;
  const intake: IntakeSettings = {
    uploadBucket: settings.UPLOAD_BUCKET,
    jobsBucket: settings.JOBS_BUCKET,
    regionDefault: settings.REGION_DEFAULT,
    runtimeVersionDefault: settings.RUNTIME_VERSION_DEFAULT,
    runtimeOf(version) {
      const found = findRuntime(images, version);
      return (
        found && {
          name: found.name,
          note: images[version]?.note ?? null,
          pythonVersion: found.image.pythonVersion ?? null,
          gpus: found.image.gpus ?? null,
          packages: packagesOfImage(found.image.image ?? found.image.machineImages[0] ?? ''),
          bootDiskGib: found.image.image === undefined ? MACHINE_IMAGE_DISK.bootDiskGib : null,
          architecture: architectureFrom(found.image.architecture),
        }
      );
    },
    runtimeVersions: Object.keys(images).filter((version) => images[version]?.runtime === undefined),
    zones: settings.ZONES,
    vmLimits: vmLimitsOf(settings),
    rights: settings.JOB_RIGHTS,
    secretNames: connectSecrets(settings),
    describeMissingRight: missingTerraformLine,
    notificationChannels: Object.keys(settings.NOTIFICATION_CHANNELS),
    architectureOf,
    containers: {
      allowsRoot: settings.CONTAINERS_AS_ROOT,
      // That of the machine image.
      hasEngine: async () => true,
    },
    keeping: {
      msMax: settings.KEEP_ON_FAILURE_SECONDS_MAX * 1_000,
      costUsdMax: settings.KEEP_ON_FAILURE_COST_USD_MAX,
    },
    hasShellAccess: settings.SHELL_ACCESS,
    diskKmsKey: settings.DISK_KMS_KEY,
    internetAccess: settings.INTERNET_ACCESS,
    dataBuckets: settings.DATA_BUCKETS,
  };
  const adapters = { objects: connectObjects(settings), registry: connectRegistry(settings) };
  return { ...connectEvents(settings, logger), ...adapters, intake, channels: settings.NOTIFICATION_CHANNELS };
}
