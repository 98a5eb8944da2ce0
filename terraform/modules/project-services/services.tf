locals {
  services = concat(
    [
      "artifactregistry.googleapis.com",
      "cloudbuild.googleapis.com",
      "cloudfunctions.googleapis.com",
      "cloudscheduler.googleapis.com",
      "compute.googleapis.com",
      "firestore.googleapis.com",
      "iam.googleapis.com",
      "logging.googleapis.com",
      "monitoring.googleapis.com",
      "pubsub.googleapis.com",
      "run.googleapis.com",
      "storage.googleapis.com",
    ],
    var.with_cmek ? ["cloudkms.googleapis.com"] : [],
    var.with_secrets ? ["secretmanager.googleapis.com"] : [],
    var.with_iap ? ["iap.googleapis.com"] : [],
    var.with_budget ? ["billingbudgets.googleapis.com"] : [],
  )
}

resource "google_project_service" "this" {
  for_each = toset(local.services)
  project  = var.project_id
  service  = each.value
  # Other software in the project may use the API.
  disable_on_destroy = false
}
