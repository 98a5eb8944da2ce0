resource "google_cloudfunctions2_function" "this" {
  for_each    = var.functions
  project     = var.project_id
  location    = var.region
  name        = "${var.prefix}-${each.key}"
  description = each.value.description
  labels      = var.labels
  # Its image and the copy of its archive; the repository must have the same key.
  kms_key_name = try(var.encryption.kms_key_name, null)

  build_config {
    runtime           = "nodejs24"
    entry_point       = each.key
    docker_repository = google_artifact_registry_repository.images.id
    service_account   = var.build_account.name

    # An image that is complete in itself. By default, Cloud Run replaces its lower layers (Cloud Run functions docs,
    # "Execution environment security"), which another service would have to repeat.
    dynamic "on_deploy_update_policy" {
      for_each = each.value.is_image_shared ? [true] : []
      content {}
    }

    source {
      storage_source {
        bucket = var.source_bucket
        object = google_storage_bucket_object.source[each.key].name
      }
    }
  }

  service_config {
    available_memory                 = "${each.value.memory_mib}Mi"
    available_cpu                    = each.value.cpu
    timeout_seconds                  = each.value.timeout_seconds
    min_instance_count               = 0
    max_instance_count               = each.value.instances_max
    max_instance_request_concurrency = each.value.concurrency
    ingress_settings                 = each.value.ingress
    all_traffic_on_latest_revision   = true
    service_account_email            = each.value.service_account
    # The functions framework adds the label execution_id to each line; errors name the archive as their version.
    environment_variables         = merge(each.value.environment, { LOG_EXECUTION_ID = "true", RELEASE = local.checksums[each.key] })
    vpc_connector                 = try(var.vpc_connector.name, null)
    vpc_connector_egress_settings = try(var.vpc_connector.egress, null)
  }

  depends_on = [google_artifact_registry_repository_iam_member.build]
}

# A binding, not a member: Terraform removes invokers that were added manually.
resource "google_cloud_run_service_iam_binding" "invokers" {
  for_each = { for name, function in var.functions : name => function if length(function.invokers) > 0 }
  project  = var.project_id
  location = var.region
  # The Cloud Run service has the name of the function.
  service = google_cloudfunctions2_function.this[each.key].name
  role    = "roles/run.invoker"
  members = values(each.value.invokers)

  lifecycle {
    # Replacing the function replaces its service, which then lacks this binding.
    replace_triggered_by = [google_cloudfunctions2_function.this[each.key].id]
  }
}

# Depends on all functions: it is read after they have changed.
data "google_cloud_run_v2_service" "shared" {
  for_each   = { for name, function in var.functions : name => function if function.is_image_shared }
  project    = var.project_id
  location   = var.region
  name       = "${var.prefix}-${each.key}"
  depends_on = [google_cloudfunctions2_function.this]
}
