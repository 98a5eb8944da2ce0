import type { IdentifyCaller } from '#shared/api/identify-callers.ts';
import type { VmIdentityVerifier } from '#shared/api/verify-vm-identity.ts';
import type { Timeouts } from '#shared/domain/timeouts.ts';
import type { Logger } from '#shared/observability/logger.ts';
import type { CapacityHistory } from '#shared/ports/capacity-history.ts';
import type { ChangeFeed } from '#shared/ports/change-feed.ts';
import type { Clock } from '#shared/ports/clock.ts';
import type { DeploymentKey } from '#shared/ports/deployment-key.ts';
import type { ImageRegistry } from '#shared/ports/image-registry.ts';
import type { JobStore } from '#shared/ports/job-store.ts';
import type { LogStore } from '#shared/ports/log-store.ts';
import type { MessageBus } from '#shared/ports/message-bus.ts';
import type { NotificationLog } from '#shared/ports/notification-log.ts';
import type { NotificationSender } from '#shared/ports/notification-sender.ts';
import type { ObjectStore } from '#shared/ports/object-store.ts';
import type { PageAssets } from '#shared/ports/page-assets.ts';
import type { ReplicaStore } from '#shared/ports/replica-store.ts';
import type { SecretReader } from '#shared/ports/secret-reader.ts';
import type { CurveStore, TuningStore } from '#shared/ports/tuning-store.ts';
import type { UpdatePublisher } from '#shared/ports/update-publisher.ts';
import type { VmProvider } from '#shared/ports/vm-provider.ts';
import type { NotificationChannels } from '#shared/protocol/notification-channels.ts';
import type { IntakeSettings } from '#shared/use-cases/intake/checks/intake-settings.ts';
import type { VmSettings } from '#shared/use-cases/provision/vm-settings.ts';

/** Everything that functions are built from. Each takes a subset; composition roots provide it. */
export type FunctionPorts = {
  readonly jobs: JobStore;
  readonly replicas: ReplicaStore;
  readonly tunings: TuningStore;
  readonly curves: CurveStore;
  readonly capacity: CapacityHistory;
  readonly bus: MessageBus;
  readonly updates: UpdatePublisher;
  readonly vms: VmProvider;
  readonly objects: ObjectStore;
  readonly registry: ImageRegistry;
  readonly logs: LogStore;
  readonly page: PageAssets;
  readonly changes: ChangeFeed;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly timeouts: Timeouts;
  /** Only `heartbeat` takes it. */
  readonly deploymentKey: DeploymentKey;
  readonly vmSettings: VmSettings;
  readonly intake: IntakeSettings;
  readonly verifyVmIdentity: VmIdentityVerifier;
  /** Who calls the API; without it, every caller is unknown. */
  readonly identifyCaller?: IdentifyCaller | undefined;
  readonly channels: NotificationChannels;
  readonly notifications: NotificationLog;
  readonly sender: NotificationSender;
  readonly secrets: SecretReader;
  /** The address of the page, for links in messages. */
  readonly pageUrl: string | undefined;
};

/** The ports of a use case, and those of every function: clock and logger. */
export type PortsFor<UseCasePorts> = UseCasePorts & Pick<FunctionPorts, 'clock' | 'logger'>;
