# Grants for what jobs may name (variables-rights.tf): exactly what a VM needs, and only on what is listed.
locals {
  has_rights = length(var.job_accounts) + length(var.job_networks) + length(var.job_keys) > 0

  # Bucket names are global and have at most 63 characters; the e-mail address may be longer.
  account_buckets = { for email in var.job_accounts : email => "jobs-${substr(sha256(email), 0, 8)}" }

  # VMs of other accounts, dropforge-vm among them, have no right on an account's bucket.
  job_account_bucket_grants = merge([
    for email, bucket in local.account_buckets : {
      "${email}/uploads/get" = {
        bucket    = "uploads"
        member    = "serviceAccount:${email}"
        role      = local.bucket_roles["get"]
        condition = null
      }
      # The agent, by its name: no right to list.
      "${email}/sources/get" = {
        bucket    = "sources"
        member    = "serviceAccount:${email}"
        role      = local.bucket_roles["get"]
        condition = null
      }
      "${email}/own/write" = {
        bucket    = bucket
        member    = "serviceAccount:${email}"
        role      = local.bucket_roles["write"]
        condition = null
      }
    }
  ]...)

  # Functions have on the bucket of each account the rights that they have on the shared one.
  account_bucket_reader_grants = merge(flatten([
    for bucket in values(local.account_buckets) : [
      for account, granted in local.permissions : {
        for right in try(granted.jobs, []) : "${account}/${bucket}/${right}" => {
          bucket    = bucket
          member    = module.identities.members[account]
          role      = local.bucket_roles[right]
          condition = lookup(local.bucket_conditions, right, null)
        }
      } if account != "vm"
    ]
  ])...)

  account_bucket_submitter_grants = merge([
    for bucket in values(local.account_buckets) : {
      for member in var.submitters : "${member}/${bucket}" => {
        bucket    = bucket
        member    = member
        role      = local.bucket_roles["read"]
        condition = null
      }
    }
  ]...)

  job_account_log_grants = {
    for email in var.job_accounts :
    "${email}/logs" => { member = "serviceAccount:${email}", role = "roles/logging.logWriter" }
  }

  # VMs may list what they read; intake looks for it, and reads where the bucket is, but no object.
  data_bucket_grants = merge([
    for bucket, right in var.data_buckets : merge(
      { for email in var.job_accounts : "${email}/${bucket}" => { bucket = bucket, member = "serviceAccount:${email}", role = local.bucket_roles[right] } },
      {
        for account, has in merge({ vm = right }, { for name in ["on-upload", "on-submit", "api"] : name => "list" }) :
        "${account}/${bucket}" => { bucket = bucket, member = module.identities.members[account], role = local.bucket_roles[has] }
      },
    )
  ]...)

  # Subnetworks of this project are covered by the custom role of provision.
  shared_subnetworks = toset([
    for name in distinct(flatten([for network in values(var.job_networks) : values(network.subnetworks)])) :
    name if split("/", name)[1] != var.project_id
  ])

  # Compute Engine's agent in this project.
  compute_agent = "serviceAccount:service-${data.google_project.this.number}@compute-system.iam.gserviceaccount.com"

  has_network_attachments = length(flatten(values(var.job_networks)[*].network_attachments)) > 0

  job_rights = {
    accounts = {
      for email, bucket in local.account_buckets : email => {
        bucket  = module.storage.bucket_names[bucket]
        secrets = tolist(try(var.job_account_secrets[email], []))
      }
    }
    networks = {
      for name, network in var.job_networks : name => {
        subnetworks        = network.subnetworks
        networkAttachments = network.network_attachments
      }
    }
    keys = var.job_keys
  }
}

# One member each: whatever else is granted on these buckets, which this configuration does not own, stays.
resource "google_storage_bucket_iam_member" "data" {
  for_each = local.data_bucket_grants
  bucket   = each.value.bucket
  role     = each.value.role
  member   = each.value.member
}

resource "google_secret_manager_secret_iam_member" "job_account" {
  for_each = merge([
    for email, names in var.job_account_secrets : {
      for name in names : "${email}/${name}" => { member = "serviceAccount:${email}", name = name }
    }
  ]...)
  project = var.project_id
  # The secrets exist before their names are known.
  secret_id = one([for name in module.secrets.names : name if name == each.value.name])
  role      = local.secret_roles["read"]
  member    = each.value.member
}

# VMs get tokens of an account of another project from Compute Engine, which creates them as its agent (IAM docs, "Attach
# service accounts to resources", different project). No other member may create tokens of any account.
resource "google_service_account_iam_member" "compute_agent" {
  for_each           = { for email, name in module.identities.external_names : email => name if split("/", name)[1] != var.project_id }
  service_account_id = each.value
  role               = "roles/iam.serviceAccountTokenCreator"
  member             = local.compute_agent
}

resource "google_compute_subnetwork_iam_member" "provision" {
  for_each   = local.shared_subnetworks
  project    = split("/", each.value)[1]
  region     = split("/", each.value)[3]
  subnetwork = split("/", each.value)[5]
  role       = "roles/compute.networkUser"
  member     = module.identities.members["provision"]
}

resource "google_kms_crypto_key_iam_member" "job" {
  for_each      = toset(var.job_keys)
  crypto_key_id = each.value
  role          = "roles/cloudkms.cryptoKeyEncrypterDecrypter"
  member        = local.compute_agent
}
