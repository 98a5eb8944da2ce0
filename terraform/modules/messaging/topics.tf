locals {
  # shared/ports/message-bus.ts
  topics = [
    "uploads", "submit", "control", "provision", "teardown", "tuning", "job-updates", "tick", "interruptions", "dead-letters",
  ]
}

resource "google_pubsub_topic" "this" {
  for_each     = toset(local.topics)
  project      = var.project_id
  name         = "${var.prefix}-${each.value}"
  kms_key_name = try(var.encryption.kms_key_name, null)
  labels       = var.labels
  # Dead letters can be inspected and replayed for a week after they were acknowledged.
  message_retention_duration = each.value == "dead-letters" ? "604800s" : null
}

resource "google_pubsub_topic_iam_member" "publisher" {
  for_each = var.publishers
  project  = var.project_id
  topic    = google_pubsub_topic.this[each.value.topic].name
  role     = "roles/pubsub.publisher"
  member   = each.value.member
}
