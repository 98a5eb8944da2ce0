mock_provider "google" {}

variables {
  project_id = "my-project"
  prefix     = "dropforge"
  accounts   = { watch = { description = "Reconciles jobs." } }
}

run "names_accounts_after_their_function" {
  command = plan
  assert {
    condition     = google_service_account.this["watch"].account_id == "dropforge-watch"
    error_message = "The account id must be the prefix and the function's name."
  }
}

run "rejects_basic_roles" {
  command = plan
  variables {
    project_grants = { a = { account = "watch", role = "roles/editor" } }
  }
  expect_failures = [var.project_grants]
}

run "rejects_long_prefixes" {
  command = plan
  variables {
    prefix = "dropforge-of-the-research-department"
  }
  expect_failures = [var.prefix]
}
