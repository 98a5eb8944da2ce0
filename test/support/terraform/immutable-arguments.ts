import { isDeepStrictEqual } from 'node:util';
import { isValueMap, type Value } from './terraform-value.ts';

/**
 * By type of what holds state or is referred to from outside of Terraform: the arguments whose change deletes the
 * resource and creates another (`ForceNew` in the provider's source, 7.45).
 */
export const IMMUTABLE_ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  google_artifact_registry_repository: [
    'project',
    'location',
    'repository_id',
    'format',
    'mode',
    'kms_key_name',
    'remote_repository_config',
  ],
  google_cloud_run_service: ['project', 'location', 'name'],
  google_cloud_scheduler_job: ['project', 'region', 'name'],
  google_cloudfunctions2_function: ['project', 'location', 'name'],
  google_compute_network: ['project', 'name', 'auto_create_subnetworks', 'description'],
  google_compute_subnetwork: ['project', 'region', 'name', 'network', 'description'],
  google_firestore_database: ['project', 'location_id', 'name', 'cmek_config', 'database_edition'],
  google_firestore_field: ['project', 'database', 'collection', 'field'],
  google_firestore_index: ['project', 'database', 'collection', 'query_scope', 'fields'],
  google_logging_project_sink: ['project', 'name'],
  google_project_iam_custom_role: ['project', 'role_id'],
  google_pubsub_subscription: ['project', 'name', 'topic', 'filter', 'enable_message_ordering'],
  google_pubsub_topic: ['project', 'name'],
  google_secret_manager_secret: ['project', 'secret_id', 'replication'],
  google_service_account: ['project', 'account_id'],
  google_storage_bucket: ['project', 'location', 'name', 'custom_placement_config', 'enable_object_retention'],
  google_storage_notification: ['bucket', 'topic', 'payload_format', 'event_types', 'object_name_prefix'],
};

/** The immutable arguments that a plan changes; of a value that is not known yet, it is not known that it stays. */
export function listReplacing(type: string, prior: Value, planned: Value): readonly string[] {
  if (!isValueMap(prior) || !isValueMap(planned)) {
    return [];
  }
  return (IMMUTABLE_ARGUMENTS[type] ?? []).filter((name) => !isDeepStrictEqual(prior[name], planned[name]));
}
