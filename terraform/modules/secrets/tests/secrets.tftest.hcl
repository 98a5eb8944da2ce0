mock_provider "google" {}

variables {
  project_id = "my-project"
  location   = "europe-west4"
  labels     = {}
  names      = ["hf-token", "wandb-key"]
  accessors  = { vm = { member = "serviceAccount:vm@p", role = "roles/secretmanager.secretAccessor" } }
}

run "lets_each_accessor_read_each_secret" {
  command = plan
  assert {
    condition     = toset(keys(google_secret_manager_secret_iam_member.this)) == toset(["vm/hf-token", "vm/wandb-key"])
    error_message = "Permissions must be granted on each secret, not on the project."
  }
  assert {
    condition = alltrue([
      for secret in google_secret_manager_secret.this :
      one(secret.replication[0].user_managed[0].replicas).location == "europe-west4"
    ])
    error_message = "Values must be stored in the region only."
  }
}

run "encrypts_values_with_the_key" {
  command = plan
  variables {
    encryption = { kms_key_name = "projects/k/locations/europe-west4/keyRings/r/cryptoKeys/k" }
  }
  assert {
    condition = alltrue([
      for secret in google_secret_manager_secret.this :
      one(one(secret.replication[0].user_managed[0].replicas).customer_managed_encryption).kms_key_name == var.encryption.kms_key_name
    ])
    error_message = "With a key, values must be encrypted with it."
  }
}
