# Pub/Sub forwards undeliverable messages as its own service agent.
locals {
  service_agent = "serviceAccount:service-${var.project_number}@gcp-sa-pubsub.iam.gserviceaccount.com"
}

resource "google_pubsub_topic_iam_member" "dead_letters" {
  project = var.project_id
  topic   = google_pubsub_topic.this["dead-letters"].name
  role    = "roles/pubsub.publisher"
  member  = local.service_agent
}
