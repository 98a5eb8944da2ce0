import type { Settings } from '#functions/settings.ts';
import { connectEvents, type EventSettings } from '#infra/google-cloud/compose/connect-events.ts';
import { connectObjects } from '#infra/google-cloud/compose/connect-objects.ts';
import { findRuntime, MACHINE_IMAGE_DISK } from '#infra/google-cloud/compute-engine/boot-source.ts';
import type { IntakeSettings } from '#shared/use-cases/intake/intake-settings.ts';

type OwnSettings = Settings<
  'UPLOAD_BUCKET' | 'JOBS_BUCKET' | 'REGION_DEFAULT' | 'RUNTIME_VERSION_DEFAULT' | 'RUNTIME_IMAGES' | 'ZONES'
>;

/** What it takes to judge a submission and to make it a job. */
export function connectIntake(settings: EventSettings & OwnSettings) {
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
          bootDiskGib: found.image.image === undefined ? MACHINE_IMAGE_DISK.bootDiskGib : null,
        }
      );
    },
    runtimeVersions: Object.keys(images).filter((version) => images[version]?.runtime === undefined),
    zones: settings.ZONES,
  };
  return { ...connectEvents(settings), objects: connectObjects(settings), intake };
}
