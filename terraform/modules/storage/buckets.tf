locals {
  # A running job replaces its checkpoints all the time, and each replaced version is billed like the current one. The
  # newest ones are kept as long as any: the next attempt restores what the manifest names, which may be older than what
  # an interrupted upload has already replaced. Agents delete uploads that they replace before a manifest names them, so
  # one newer version exists, or two after a lost answer.
  replaced_checkpoints = { newer_versions = 3, days = 1 }

  cache_days   = 8
  gcloud_parts = "gcloud/tmp/"

  shared_buckets = {
    # Jobs refer to the generation of a package: versioning keeps it when the object is replaced.
    uploads = { days = var.retention.uploads_days, replaced = null, is_versioned = true, partial = [local.gcloud_parts] }
    jobs    = { days = var.retention.jobs_days, replaced = local.replaced_checkpoints, is_versioned = true, partial = ["_uploads/", local.gcloud_parts] }
    # The functions' archives, and the agents of running jobs: nothing live is deleted.
    sources = { days = null, replaced = null, is_versioned = true, partial = null }
    # Installed packages: an entry is used in the week in which it was created (ADR 27).
    cache = { days = local.cache_days, replaced = null, is_versioned = false, partial = null }
  }
  output_buckets = {
    for name in var.outputs :
    name => {
      days         = var.retention.jobs_days
      replaced     = local.replaced_checkpoints
      is_versioned = true
      partial      = [local.gcloud_parts]
    }
  }
  buckets = merge(local.shared_buckets, local.output_buckets)
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
    enabled = each.value.is_versioned
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

  dynamic "lifecycle_rule" {
    for_each = each.value.replaced == null ? [] : [each.value.replaced]
    content {
      action {
        type = "Delete"
      }
      condition {
        days_since_noncurrent_time = lifecycle_rule.value.days
        num_newer_versions         = lifecycle_rule.value.newer_versions
        with_state                 = "ARCHIVED"
      }
    }
  }

  # Parts of large files that a killed agent left behind: no upload takes a day.
  dynamic "lifecycle_rule" {
    for_each = each.value.replaced == null ? [] : [".dropforge-part"]
    content {
      action {
        type = "Delete"
      }
      condition {
        age            = 2
        matches_suffix = [lifecycle_rule.value]
        with_state     = "ANY"
      }
    }
  }

  # Uploads through the API that were not started: shared/use-cases/submission/staged-upload.ts, STAGING_FOLDER. Parts that
  # gcloud left behind when a parallel composite upload was interrupted (gcloud storage cp, "Parallel composite uploads").
  dynamic "lifecycle_rule" {
    for_each = each.value.partial == null ? [] : [each.value.partial]
    content {
      action {
        type = "Delete"
      }
      condition {
        age            = 2
        matches_prefix = lifecycle_rule.value
        with_state     = "ANY"
      }
    }
  }

  # Packages that VMs with this account have installed: shared/use-cases/provision/cached-environments.ts, PREFIX.
  dynamic "lifecycle_rule" {
    for_each = contains(var.outputs, each.key) ? ["environments-2/"] : []
    content {
      action {
        type = "Delete"
      }
      condition {
        age            = local.cache_days
        matches_prefix = [lifecycle_rule.value]
        with_state     = "ANY"
      }
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
