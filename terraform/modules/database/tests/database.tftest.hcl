mock_provider "google" {}

variables {
  project_id = "my-project"
  name       = "dropforge"
  location   = "nam5"
}

run "is_protected_unless_told_otherwise" {
  command = plan
  assert {
    condition     = google_firestore_database.this.delete_protection_state == "DELETE_PROTECTION_ENABLED"
    error_message = "A database with every job's history is not deleted by mistake."
  }
}

run "can_be_let_go" {
  command = plan
  variables {
    deletion_protection = false
  }
  assert {
    condition     = google_firestore_database.this.delete_protection_state == "DELETE_PROTECTION_DISABLED"
    error_message = "deletion_protection = false lets a destroy succeed."
  }
}

run "refuses_the_default_database" {
  command = plan
  variables {
    name = "(default)"
  }
  expect_failures = [var.name]
}
