# Each service encrypts with the key by itself, as its own agent.
locals {
  agents = {
    firestore = "service-${var.project_number}@gcp-sa-firestore.iam.gserviceaccount.com"
    pubsub    = "service-${var.project_number}@gcp-sa-pubsub.iam.gserviceaccount.com"
    storage   = "service-${var.project_number}@gs-project-accounts.iam.gserviceaccount.com"
  }
}

resource "google_kms_crypto_key_iam_member" "agent" {
  for_each      = var.kms_key_name == null ? {} : local.agents
  crypto_key_id = var.kms_key_name
  role          = "roles/cloudkms.cryptoKeyEncrypterDecrypter"
  member        = "serviceAccount:${each.value}"
}
