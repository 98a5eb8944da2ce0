mock_provider "google" {}

variables {
  project_id = "my-project"
  prefix     = "dropforge"
  accounts   = { watch = { description = "Wakes what is due." } }
}

run "names_accounts_after_their_function" {
  command = plan
  assert {
    condition     = google_service_account.this["watch"].account_id == "dropforge-watch"
    error_message = "An account is called after its function."
  }
}

run "refuses_basic_roles" {
  command = plan
  variables {
    project_grants = { a = { account = "watch", role = "roles/editor" } }
  }
  expect_failures = [var.project_grants]
}

run "refuses_prefixes_that_leave_no_room" {
  command = plan
  variables {
    prefix = "dropforge-of-the-research-department"
  }
  expect_failures = [var.prefix]
}
