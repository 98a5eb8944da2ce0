mock_provider "google" {}

variables {
  project_id = "my-project"
}

run "leaves_apis_on_when_dropforge_goes" {
  command = plan
  assert {
    condition     = alltrue([for service in google_project_service.this : !service.disable_on_destroy])
    error_message = "Others in the project may use the same APIs."
  }
  assert {
    condition     = !contains(keys(google_project_service.this), "cloudkms.googleapis.com")
    error_message = "Cloud KMS is for deployments with a key of their own."
  }
}

run "switches_kms_on_for_own_keys" {
  command = plan
  variables {
    with_cmek = true
  }
  assert {
    condition     = contains(keys(google_project_service.this), "cloudkms.googleapis.com")
    error_message = "A key of one's own needs Cloud KMS."
  }
}

run "switches_secret_manager_on_for_secrets" {
  command = plan
  variables {
    with_secrets = true
  }
  assert {
    condition     = contains(keys(google_project_service.this), "secretmanager.googleapis.com")
    error_message = "Secrets need Secret Manager."
  }
}
