# The logs of functions and jobs, in the deployment's region and with its retention.
locals {
  # Filters of Cloud Logging.
  function_logs = "resource.type=\"cloud_run_revision\" AND resource.labels.service_name=~\"^${var.prefix}-\""
  job_logs      = "logName=\"projects/${var.project_id}/logs/dropforge\""
  own_logs      = "(${local.job_logs}) OR (${local.function_logs})"
}

resource "google_logging_project_bucket_config" "this" {
  count          = var.log_bucket == null ? 0 : 1
  project        = var.project_id
  location       = var.log_bucket.location
  bucket_id      = var.prefix
  description    = "Logs of Dropforge's functions and jobs."
  retention_days = var.log_bucket.retention_days

  dynamic "cmek_settings" {
    for_each = var.encryption == null ? [] : [var.encryption.kms_key_name]
    content {
      kms_key_name = cmek_settings.value
    }
  }
}

# To a bucket of its own project, a sink needs no account (Cloud Logging docs, "Route logs to supported destinations").
resource "google_logging_project_sink" "logs" {
  count                  = var.log_bucket == null ? 0 : 1
  project                = var.project_id
  name                   = "${var.prefix}-logs"
  description            = "Logs of Dropforge's functions and jobs."
  destination            = "logging.googleapis.com/${google_logging_project_bucket_config.this[0].id}"
  unique_writer_identity = true
  filter                 = local.own_logs
}

# Otherwise the bucket _Default would store, and bill, the same entries again. User-defined metrics count excluded
# entries, too (docs, "Log-based metrics overview"). Created after the sink, so that no entry is lost.
resource "google_logging_project_exclusion" "logs" {
  count       = var.log_bucket == null ? 0 : 1
  project     = var.project_id
  name        = "${var.prefix}-logs"
  description = "These entries are stored in the log bucket ${var.prefix}."
  filter      = local.own_logs

  depends_on = [google_logging_project_sink.logs]
}
