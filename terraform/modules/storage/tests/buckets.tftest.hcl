mock_provider "google" {}

variables {
  project_id = "my-project"
  prefix     = "my-project-dropforge"
  location   = "us-central1"
}

run "keeps_buckets_private_and_versioned" {
  command = plan
  assert {
    condition = alltrue([
      for name, bucket in google_storage_bucket.this :
      bucket.public_access_prevention == "enforced" && bucket.versioning[0].enabled == (name != "cache")
    ])
    error_message = "Every bucket must be private, and versioned unless it is a cache."
  }
  assert {
    condition = contains(
      [for rule in google_storage_bucket.this["cache"].lifecycle_rule : one(rule.condition).age], 8
    )
    error_message = "Cached packages must be deleted after 8 days."
  }
  assert {
    condition     = length(google_storage_bucket.this["uploads"].lifecycle_rule) == 3
    error_message = "By default, live objects must not be deleted."
  }
}

run "deletes_uploads_after_uploads_days" {
  command = plan
  variables {
    retention = { uploads_days = 30 }
  }
  assert {
    condition = contains(
      [for rule in google_storage_bucket.this["uploads"].lifecycle_rule : one(rule.condition).age], 30
    )
    error_message = "uploads_days must be a lifecycle rule of the upload bucket."
  }
  assert {
    condition     = length(google_storage_bucket.this["jobs"].lifecycle_rule) == 5
    error_message = "uploads_days must not affect the job bucket."
  }
}

run "deletes_replaced_checkpoints_early_but_keeps_the_newest" {
  command = plan
  assert {
    condition = contains(
      [
        for rule in google_storage_bucket.this["jobs"].lifecycle_rule :
        "${one(rule.condition).days_since_noncurrent_time} ${one(rule.condition).num_newer_versions}"
      ],
      "1 3"
    )
    error_message = "Of a replaced object, the three newest versions must be kept longer than a day, and no others."
  }
  assert {
    condition     = length(google_storage_bucket.this["uploads"].lifecycle_rule) == 3
    error_message = "Packages that a job has pinned must not be deleted early."
  }
}

run "rejects_immediate_deletion_of_noncurrent_versions" {
  command = plan
  variables {
    retention = { noncurrent_days = 0 }
  }
  expect_failures = [var.retention]
}

run "rejects_unknown_buckets" {
  command = plan
  variables {
    grants = { a = { bucket = "downloads", role = "roles/storage.objectViewer", member = "user:a@example.com" } }
  }
  expect_failures = [var.grants]
}
