# Who reads images (variables-containers.tf): intake, which pins them, and VMs, which pull them. No other account does.
locals {
  has_registries = length(var.registries) > 0

  image_readers = merge(
    { for account, granted in local.permissions : account => module.identities.members[account] if can(granted.images) },
    { for email in var.job_accounts : email => "serviceAccount:${email}" },
  )

  # The hosts outside of Google from which VMs can download. Unknown regions are left out.
  internet_access = {
    for key, value in {
      regions = var.network.existing == null ? (var.network.nat ? keys(local.subnets) : []) : var.network.existing.internet_regions
      networks = {
        for name, network in var.job_networks : name => network.internet_regions if network.internet_regions != null
      }
      remoteRepositories = {
        for name, host in var.remote_repositories : host => "${var.region}-docker.pkg.dev/${var.project_id}/${name}"
      }
    } : key => value if value != null
  }

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

# VMs without NAT reach Artifact Registry, which fetches and keeps what they pull.
resource "google_artifact_registry_repository" "remote" {
  for_each      = var.remote_repositories
  project       = module.project_services.project_id
  location      = var.region
  repository_id = each.key
  description   = "Images of ${each.value} for jobs."
  format        = "DOCKER"
  mode          = "REMOTE_REPOSITORY"
  kms_key_name  = try(module.encryption.encryption.kms_key_name, null)
  labels        = local.labels

  remote_repository_config {
    docker_repository {
      public_repository = each.value == "docker.io" ? "DOCKER_HUB" : null
      dynamic "custom_repository" {
        for_each = each.value == "docker.io" ? [] : [each.value]
        content {
          uri = "https://${custom_repository.value}"
        }
      }
    }
  }

  # An image that was deleted is fetched again when it is pulled.
  cleanup_policies {
    id     = "after-a-month"
    action = "DELETE"
    condition {
      older_than = "2592000s"
    }
  }
}

resource "google_artifact_registry_repository_iam_member" "remote" {
  for_each = merge([
    for name in keys(var.remote_repositories) : {
      for account, member in local.image_readers : "${account}/${name}" => { member = member, name = name }
    }
  ]...)
  project    = var.project_id
  location   = var.region
  repository = google_artifact_registry_repository.remote[each.value.name].repository_id
  role       = "roles/artifactregistry.reader"
  member     = each.value.member
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
