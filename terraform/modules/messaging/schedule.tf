# Cloud Scheduler publishes as its own service agent, which has the permission once the API is enabled.
resource "google_cloud_scheduler_job" "this" {
  for_each    = var.schedules
  project     = var.project_id
  region      = var.region
  name        = "${var.prefix}-${each.key}"
  description = "Publishes to ${var.prefix}-${each.value.topic}."
  schedule    = each.value.cron
  time_zone   = "Etc/UTC"

  pubsub_target {
    topic_name = google_pubsub_topic.this[each.value.topic].id
    # Never empty: the functions framework treats an empty message as missing.
    data = base64encode(jsonencode(each.value.message))
  }
}
