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
    condition     = toset(keys(google_kms_crypto_key_iam_member.agent)) == toset(["compute", "firestore", "pubsub", "storage"])
    error_message = "The agents of Compute Engine, Firestore, Pub/Sub and Cloud Storage must be able to use the key."
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

run "lets_artifact_registry_use_the_key_for_remote_repositories" {
  command = plan
  variables {
    encryption  = { kms_key_name = "projects/k/locations/us-central1/keyRings/r/cryptoKeys/k" }
    with_images = true
  }
  assert {
    condition     = contains(keys(google_kms_crypto_key_iam_member.agent), "artifactregistry")
    error_message = "The agent of Artifact Registry must be able to use the key."
  }
}
