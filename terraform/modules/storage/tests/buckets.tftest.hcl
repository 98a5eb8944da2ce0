mock_provider "google" {}

variables {
  project_id = "my-project"
  prefix     = "my-project-dropforge"
  location   = "us-central1"
}

run "keeps_buckets_private_and_versions_of_packages" {
  command = plan
  assert {
    condition = alltrue([
      for bucket in google_storage_bucket.this :
      bucket.public_access_prevention == "enforced" && bucket.versioning[0].enabled
    ])
    error_message = "Every bucket is private and keeps versions."
  }
  assert {
    condition     = length(google_storage_bucket.this["uploads"].lifecycle_rule) == 2
    error_message = "By default nothing that is current is deleted."
  }
}

run "deletes_uploads_after_the_days_asked_for" {
  command = plan
  variables {
    retention = { uploads_days = 30 }
  }
  assert {
    condition = contains(
      [for rule in google_storage_bucket.this["uploads"].lifecycle_rule : one(rule.condition).age], 30
    )
    error_message = "uploads_days is a rule of the upload bucket."
  }
  assert {
    condition     = length(google_storage_bucket.this["jobs"].lifecycle_rule) == 2
    error_message = "uploads_days is no rule of the job bucket."
  }
}

run "refuses_to_forget_packages_at_once" {
  command = plan
  variables {
    retention = { noncurrent_days = 0 }
  }
  expect_failures = [var.retention]
}

run "refuses_buckets_that_are_not_there" {
  command = plan
  variables {
    grants = { a = { bucket = "downloads", role = "roles/storage.objectViewer", member = "user:a@example.com" } }
  }
  expect_failures = [var.grants]
}
