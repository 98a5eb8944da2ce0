mock_provider "google" {}

variables {
  project_id     = "my-project"
  project_number = "123456789012"
}

run "grants_nothing_without_a_key" {
  command = plan
  assert {
    condition     = length(google_kms_crypto_key_iam_member.agent) == 0
    error_message = "Without a key there is nothing to grant."
  }
}

run "lets_the_services_use_the_key" {
  command = plan
  variables {
    project_id = "my-project"
    encryption = { kms_key_name = "projects/k/locations/us-central1/keyRings/r/cryptoKeys/k" }
  }
  assert {
    condition     = toset(keys(google_kms_crypto_key_iam_member.agent)) == toset(["compute", "firestore", "pubsub", "storage"])
    error_message = "Disks, Firestore, Pub/Sub and Cloud Storage are encrypted by their services."
  }
}

run "lets_secret_manager_use_the_key_where_there_are_secrets" {
  command = plan
  variables {
    encryption   = { kms_key_name = "projects/k/locations/us-central1/keyRings/r/cryptoKeys/k" }
    with_secrets = true
  }
  assert {
    condition     = contains(keys(google_kms_crypto_key_iam_member.agent), "secretmanager")
    error_message = "Secret Manager encrypts the values of secrets."
  }
}
