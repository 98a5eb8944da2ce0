# A bucket notification, not an Eventarc trigger: Eventarc would own the subscription, its retry policy and the handling
# of undeliverable uploads (docs/adr/0008). Reading this data source creates the service agent if it does not exist.
data "google_storage_project_service_account" "this" {
  project = var.project_id
}

resource "google_pubsub_topic_iam_member" "uploads" {
  project = var.project_id
  topic   = google_pubsub_topic.this["uploads"].name
  role    = "roles/pubsub.publisher"
  member  = data.google_storage_project_service_account.this.member
}

resource "google_storage_notification" "uploads" {
  bucket         = var.upload_bucket
  topic          = google_pubsub_topic.this["uploads"].id
  payload_format = "JSON_API_V1"
  event_types    = ["OBJECT_FINALIZE"]
  depends_on     = [google_pubsub_topic_iam_member.uploads]
}
