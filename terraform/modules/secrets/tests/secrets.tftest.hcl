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
      for secret in google_secret_manager_secret.this : length(secret.replication[0].auto) == 1
    ])
    error_message = "Without a key, replication must be automatic."
  }
}

run "stores_values_in_the_location_of_the_key" {
  command = plan
  variables {
    encryption = { kms_key_name = "projects/k/locations/europe-west4/keyRings/r/cryptoKeys/k" }
  }
  assert {
    condition = alltrue([
      for secret in google_secret_manager_secret.this :
      one(secret.replication[0].user_managed[0].replicas).location == "europe-west4"
      && length(secret.replication[0].auto) == 0
    ])
    error_message = "With a key, values must be stored in its location only."
  }
}
