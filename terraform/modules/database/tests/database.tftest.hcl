mock_provider "google" {}

variables {
  project_id = "my-project"
  name       = "dropforge"
  location   = "nam5"
}

run "is_protected_by_default" {
  command = plan
  assert {
    condition     = google_firestore_database.this.delete_protection_state == "DELETE_PROTECTION_ENABLED"
    error_message = "The database must be protected against deletion by default."
  }
}

run "can_be_unprotected" {
  command = plan
  variables {
    deletion_protection = false
  }
  assert {
    condition     = google_firestore_database.this.delete_protection_state == "DELETE_PROTECTION_DISABLED"
    error_message = "deletion_protection = false must allow a destroy."
  }
}

run "rejects_the_default_database" {
  command = plan
  variables {
    name = "(default)"
  }
  expect_failures = [var.name]
}
