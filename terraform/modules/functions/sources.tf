locals {
  checksums = { for name in keys(var.functions) : name => filesha256("${var.source_dir}/${name}.zip") }
}

# The name contains the checksum, so that new code is a new object, and a new object creates a new revision.
resource "google_storage_bucket_object" "source" {
  for_each     = var.functions
  bucket       = var.source_bucket
  name         = "${each.key}/${local.checksums[each.key]}.zip"
  source       = "${var.source_dir}/${each.key}.zip"
  content_type = "application/zip"
}

# A dedicated repository: the one that Cloud Functions creates by default keeps every image indefinitely.
resource "google_artifact_registry_repository" "images" {
  project       = var.project_id
  location      = var.region
  repository_id = "${var.prefix}-functions"
  description   = "Function images, built by Cloud Build."
  format        = "DOCKER"
  kms_key_name  = try(var.encryption.kms_key_name, null)
  labels        = var.labels

  cleanup_policies {
    id     = "keep-latest"
    action = "KEEP"
    most_recent_versions {
      keep_count = 2
    }
  }
  cleanup_policies {
    id     = "delete-older"
    action = "DELETE"
    condition {
      older_than = "604800s"
    }
  }
}

resource "google_artifact_registry_repository_iam_member" "build" {
  project    = var.project_id
  location   = var.region
  repository = google_artifact_registry_repository.images.name
  role       = "roles/artifactregistry.writer"
  member     = var.build_account.member
}
