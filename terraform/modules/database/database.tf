resource "google_firestore_database" "this" {
  project     = var.project_id
  name        = var.name
  location_id = var.location
  type        = "FIRESTORE_NATIVE"
  # Concurrent commits of one job wait for each other instead of failing; the job store depends on that.
  concurrency_mode            = "PESSIMISTIC"
  app_engine_integration_mode = "DISABLED"
  delete_protection_state     = "DELETE_PROTECTION_${var.deletion_protection ? "ENABLED" : "DISABLED"}"
  deletion_policy             = "DELETE"
  point_in_time_recovery_enablement = (
    "POINT_IN_TIME_RECOVERY_${var.point_in_time_recovery ? "ENABLED" : "DISABLED"}"
  )

  dynamic "cmek_config" {
    for_each = var.encryption == null ? [] : [var.encryption]
    content {
      kms_key_name = cmek_config.value.kms_key_name
    }
  }
}
