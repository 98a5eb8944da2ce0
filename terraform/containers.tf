# Who reads images (variables-containers.tf): intake, which pins them, and VMs, which pull them. No other account does.
locals {
  has_registries = length(var.registries) > 0

  image_readers = merge(
    { for account, granted in local.permissions : account => module.identities.members[account] if can(granted.images) },
    { for email in var.job_accounts : email => "serviceAccount:${email}" },
  )

  image_repository_grants = merge([
    for name in var.image_repositories : {
      for account, member in local.image_readers : "${account}/${name}" => {
        member     = member
        project    = split("/", name)[1]
        location   = split("/", name)[3]
        repository = split("/", name)[5]
      }
    }
  ]...)
}

resource "google_artifact_registry_repository_iam_member" "images" {
  for_each   = local.image_repository_grants
  project    = each.value.project
  location   = each.value.location
  repository = each.value.repository
  role       = "roles/artifactregistry.reader"
  member     = each.value.member
}

module "registry_secrets" {
  source     = "./modules/secrets"
  project_id = module.project_services.project_id
  location   = var.region
  labels     = local.labels
  encryption = module.encryption.encryption
  names      = toset([for registry in values(var.registries) : registry.secret])
  accessors  = { for account, member in local.image_readers : account => { member = member, role = local.secret_roles.read } }
}
