# Each service uses the key as its own service agent. All agents but the first two exist only after they are requested
# (README.md, "With a customer-managed key"); in Terraform, only google-beta can do that.
locals {
  agents = merge(
    {
      artifactregistry = "service-${var.project_number}@gcp-sa-artifactregistry.iam.gserviceaccount.com"
      functions        = "service-${var.project_number}@gcf-admin-robot.iam.gserviceaccount.com"
      run              = "service-${var.project_number}@serverless-robot-prod.iam.gserviceaccount.com"
      compute          = "service-${var.project_number}@compute-system.iam.gserviceaccount.com"
      storage          = "service-${var.project_number}@gs-project-accounts.iam.gserviceaccount.com"
      firestore        = "service-${var.project_number}@gcp-sa-firestore.iam.gserviceaccount.com"
      pubsub           = "service-${var.project_number}@gcp-sa-pubsub.iam.gserviceaccount.com"
    },
    { for name, settings in data.google_logging_project_cmek_settings.this : name => settings.service_account_id },
    !var.with_secrets ? {} : {
      secretmanager = "service-${var.project_number}@gcp-sa-secretmanager.iam.gserviceaccount.com"
    },
  )
}

# Reading this data source creates the agent.
data "google_storage_project_service_account" "this" {
  count   = var.encryption == null ? 0 : 1
  project = var.project_id
}

# The account of Cloud Logging, whose name has no fixed form.
data "google_logging_project_cmek_settings" "this" {
  for_each = var.encryption != null && var.with_logs ? toset(["logging"]) : toset([])
  project  = var.project_id
}

resource "google_kms_crypto_key_iam_member" "agent" {
  for_each      = var.encryption == null ? {} : local.agents
  crypto_key_id = var.encryption.kms_key_name
  role          = "roles/cloudkms.cryptoKeyEncrypterDecrypter"
  member        = "serviceAccount:${each.value}"

  depends_on = [data.google_storage_project_service_account.this]
}
