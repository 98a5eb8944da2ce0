# Cloud Scheduler publishes as its own agent, which has the right from the day its API is switched on.
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
    # Never empty: the functions framework takes an empty message for no message.
    data = base64encode(jsonencode(each.value.message))
  }
}
