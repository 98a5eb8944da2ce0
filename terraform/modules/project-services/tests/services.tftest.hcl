mock_provider "google" {}

variables {
  project_id = "my-project"
}

run "keeps_apis_enabled_on_destroy" {
  command = plan
  assert {
    condition     = alltrue([for service in google_project_service.this : !service.disable_on_destroy])
    error_message = "APIs must stay enabled on destroy: other software may use them."
  }
  assert {
    condition     = !contains(keys(google_project_service.this), "cloudkms.googleapis.com")
    error_message = "Cloud KMS must be enabled only with a customer-managed key."
  }
}

run "enables_kms_with_cmek" {
  command = plan
  variables {
    with_cmek = true
  }
  assert {
    condition     = contains(keys(google_project_service.this), "cloudkms.googleapis.com")
    error_message = "A customer-managed key requires Cloud KMS."
  }
}

run "enables_secret_manager_for_secrets" {
  command = plan
  variables {
    with_secrets = true
  }
  assert {
    condition     = contains(keys(google_project_service.this), "secretmanager.googleapis.com")
    error_message = "Secrets require Secret Manager."
  }
}
