mock_provider "google" {}

variables {
  project_id     = "my-project"
  project_number = "123456789012"
}

run "grants_nothing_without_a_key" {
  command = plan
  assert {
    condition     = length(google_kms_crypto_key_iam_member.agent) == 0
    error_message = "Without a key there must be no grants."
  }
}

run "lets_the_services_use_the_key" {
  command = plan
  variables {
    project_id = "my-project"
    encryption = { kms_key_name = "projects/k/locations/us-central1/keyRings/r/cryptoKeys/k" }
  }
  assert {
    condition = toset(keys(google_kms_crypto_key_iam_member.agent)) == toset([
      "artifactregistry", "compute", "firestore", "functions", "pubsub", "run", "storage",
    ])
    error_message = "The agent of each service that stores data or images must be able to use the key, and no other."
  }
}

run "lets_secret_manager_use_the_key_for_secrets" {
  command = plan
  variables {
    encryption   = { kms_key_name = "projects/k/locations/us-central1/keyRings/r/cryptoKeys/k" }
    with_secrets = true
  }
  assert {
    condition     = contains(keys(google_kms_crypto_key_iam_member.agent), "secretmanager")
    error_message = "The agent of Secret Manager must be able to use the key."
  }
}
