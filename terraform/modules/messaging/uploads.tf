# A notification of our own, not an Eventarc trigger: Eventarc would own the subscription, and with it how often an
# upload is tried and where a hopeless one goes (docs/adr/0008). Reading this makes the agent where there is none yet.
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
