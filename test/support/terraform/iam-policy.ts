import type { Resource } from './deployed-state.ts';

/** The permissions of Google's predefined roles, as far as a program or VM could use them (IAM docs, "Roles"). */
const PREDEFINED: Readonly<Record<string, readonly string[]>> = {
  'roles/cloudkms.cryptoKeyEncrypterDecrypter': ['cloudkms.cryptoKeyVersions.useToEncrypt'],
  'roles/compute.networkUser': ['compute.subnetworks.use'],
  'roles/datastore.user': ['datastore.entities.get', 'datastore.entities.update'],
  'roles/datastore.viewer': ['datastore.entities.get'],
  'roles/iam.serviceAccountTokenCreator': ['iam.serviceAccounts.getAccessToken'],
  'roles/iam.serviceAccountUser': ['iam.serviceAccounts.actAs'],
  'roles/logging.logWriter': ['logging.logEntries.create'],
  'roles/logging.viewAccessor': ['logging.views.access'],
  'roles/pubsub.publisher': ['pubsub.topics.publish'],
  'roles/pubsub.subscriber': ['pubsub.subscriptions.consume'],
  'roles/run.invoker': ['run.routes.invoke'],
  'roles/secretmanager.secretAccessor': ['secretmanager.versions.access'],
  'roles/storage.legacyBucketReader': ['storage.objects.list'],
  'roles/storage.legacyObjectReader': ['storage.objects.get'],
  'roles/storage.objectCreator': ['storage.objects.create'],
  'roles/storage.objectUser': [
    'storage.objects.create',
    'storage.objects.delete',
    'storage.objects.get',
    'storage.objects.list',
    'storage.objects.update',
  ],
  'roles/storage.objectViewer': ['storage.objects.get', 'storage.objects.list'],
  'roles/artifactregistry.reader': ['artifactregistry.repositories.downloadArtifacts'],
  'roles/artifactregistry.writer': [
    'artifactregistry.repositories.downloadArtifacts',
    'artifactregistry.repositories.uploadArtifacts',
  ],
};

/** The attribute that names the resource on which a type of grant is; a grant on the project is on everything in it. */
const TARGETS: Readonly<Record<string, string | null>> = {
  google_artifact_registry_repository_iam_member: 'repository',
  google_cloud_run_service_iam_binding: 'service',
  google_compute_subnetwork_iam_member: 'subnetwork',
  google_kms_crypto_key_iam_member: 'crypto_key_id',
  google_project_iam_member: null,
  google_pubsub_subscription_iam_member: 'subscription',
  google_pubsub_topic_iam_member: 'topic',
  google_secret_manager_secret_iam_member: 'secret_id',
  google_service_account_iam_member: 'service_account_id',
  google_storage_bucket_iam_member: 'bucket',
};

export type Request = {
  readonly member: string;
  readonly permission: string;
  /** The name in the grant: a bucket's name, a secret's id, an account's full name. */
  readonly on: string;
  /** The name that conditions see as `resource.name`. */
  readonly name?: string;
};

/**
 * Whether some grant in a deployed state allows a request, as IAM evaluates allow policies: the permission is in a role
 * that is granted to the member on the resource or on its project, and the grant's condition is true. Throws for roles,
 * types of grants and conditions that it does not know, so that none is taken for harmless.
 */
export function isAllowed(resources: readonly Resource[], request: Request): boolean {
  return grantsIn(resources).some(
    ({ type, values }) =>
      membersOf(values).includes(request.member) &&
      permissionsOf(resources, String(values.role)).includes(request.permission) &&
      isOn(type, values, request.on) &&
      conditionsOf(values).every((expression) => evaluate(expression, request.name ?? request.on)),
  );
}

/** Every permission that a member has anywhere, each with its resource; `*` for the project. */
export function listPermissions(resources: readonly Resource[], member: string): readonly string[] {
  return grantsIn(resources)
    .filter(({ values }) => membersOf(values).includes(member))
    .flatMap(({ type, values }) => {
      const target = TARGETS[type];
      const on = target === null || target === undefined ? '*' : String(values[target]);
      return permissionsOf(resources, String(values.role)).map((permission) => `${permission} on ${on}`);
    })
    .toSorted();
}

function grantsIn(resources: readonly Resource[]): readonly Resource[] {
  const grants = resources.filter(({ type }) => /_iam_(member|binding|policy)$/.test(type));
  const unknown = grants.find(({ type }) => !Object.hasOwn(TARGETS, type));
  if (unknown !== undefined) {
    throw new Error(`The grant ${unknown.type} is not known here.`);
  }
  return grants;
}

function membersOf({ member, members }: Resource['values']): readonly unknown[] {
  return Array.isArray(members) ? members : [member];
}

function permissionsOf(resources: readonly Resource[], role: string): readonly string[] {
  const custom = /^google_project_iam_custom_role\/(\w+)\/name$/.exec(role)?.[1];
  const own = resources.find(
    ({ type, values }) => type === 'google_project_iam_custom_role' && values.role_id === custom,
  );
  const permissions = own === undefined ? PREDEFINED[role] : (own.values.permissions as readonly string[]);
  if (permissions === undefined) {
    throw new Error(`The role ${role} is not known here.`);
  }
  return permissions;
}

function isOn(type: string, values: Resource['values'], on: string): boolean {
  const target = TARGETS[type];
  return target === null || target === undefined || values[target] === on;
}

function conditionsOf({ condition }: Resource['values']): readonly string[] {
  return ((condition ?? []) as readonly { readonly expression: string }[]).map(({ expression }) => expression);
}

/** A condition on the names of instances, which all other resources pass. */
const ON_INSTANCES =
  /^resource\.type != "compute\.googleapis\.com\/Instance" \|\| resource\.name\.extract\("\/instances\/\{name\}"\)\.startsWith\("([^"]+)"\)$/;

/** The conditions that this configuration has: one comparison of `resource.name` with a text. */
function evaluate(expression: string, name: string): boolean {
  const prefix = ON_INSTANCES.exec(expression)?.[1];
  if (prefix !== undefined) {
    return !name.includes('/instances/') || name.includes(`/instances/${prefix}`);
  }
  const comparison = /^resource\.name(?:\.(startsWith|endsWith)\("([^"]*)"\)| == "([^"]*)")$/.exec(expression);
  const [, operator, text = '', equal] = comparison ?? [];
  if (comparison === null) {
    throw new Error(`The condition ${expression} is not known here.`);
  }
  if (equal !== undefined) {
    return name === equal;
  }
  return operator === 'startsWith' ? name.startsWith(text) : name.endsWith(text);
}
