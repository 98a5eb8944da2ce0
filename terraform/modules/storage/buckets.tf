locals {
  buckets = {
    # Jobs refer to the generation of a package: versioning keeps it when the object is replaced.
    uploads = { days = var.retention.uploads_days }
    jobs    = { days = var.retention.jobs_days }
    sources = { days = null }
  }
}

resource "google_storage_bucket" "this" {
  for_each                    = local.buckets
  project                     = var.project_id
  name                        = "${var.prefix}-${each.key}"
  location                    = var.location
  storage_class               = "STANDARD"
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  force_destroy               = var.force_destroy
  labels                      = var.labels

  versioning {
    enabled = true
  }

  # Versioning already covers soft deletion, which would store every replaced checkpoint a second time.
  soft_delete_policy {
    retention_duration_seconds = 0
  }

  lifecycle_rule {
    action {
      type = "Delete"
    }
    condition {
      days_since_noncurrent_time = var.retention.noncurrent_days
      with_state                 = "ARCHIVED"
    }
  }

  lifecycle_rule {
    action {
      type = "AbortIncompleteMultipartUpload"
    }
    condition {
      age = 7
    }
  }

  dynamic "lifecycle_rule" {
    for_each = each.value.days == null ? [] : [each.value.days]
    content {
      action {
        type = "Delete"
      }
      condition {
        age        = lifecycle_rule.value
        with_state = "LIVE"
      }
    }
  }

  dynamic "encryption" {
    for_each = var.encryption == null ? [] : [var.encryption]
    content {
      default_kms_key_name = encryption.value.kms_key_name
    }
  }
}
