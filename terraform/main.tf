locals {
  # The code relies on this prefix in topic names, the firewall tag and VM labels.
  prefix = "dropforge"
  labels = merge(var.labels, { managed-by = "terraform", app = local.prefix })

  subnets = length(var.network.subnets) > 0 ? var.network.subnets : { (var.region) = "10.80.0.0/20" }
  network = (
    var.network.existing == null
    ? { subnetwork_pattern = one(module.network[*].subnetwork_pattern), regions = keys(local.subnets) }
    : { subnetwork_pattern = var.network.existing.subnetwork_pattern, regions = tolist(var.network.existing.regions) }
  )
}

data "google_project" "this" {
  project_id = var.project_id
}

module "project_services" {
  source       = "./modules/project-services"
  project_id   = var.project_id
  with_cmek    = var.encryption != null
  with_budget  = var.budget != null
  with_iap     = var.shell_access != null || local.has_page
  with_secrets = length(var.secrets) > 0 || local.has_notifications || local.has_registries
}

module "identities" {
  source         = "./modules/identities"
  project_id     = module.project_services.project_id
  prefix         = local.prefix
  accounts       = local.accounts
  custom_roles   = local.custom_roles
  project_grants = local.project_grants
  actor_grants   = local.actor_grants
  member_grants  = local.job_account_log_grants
  role_suffix    = var.custom_role_suffix
}

module "encryption" {
  source         = "./modules/encryption"
  with_logs      = local.has_log_bucket
  project_id     = module.project_services.project_id
  project_number = data.google_project.this.number
  encryption     = var.encryption
  with_secrets   = length(var.secrets) > 0 || local.has_notifications || local.has_registries
}

module "secrets" {
  source     = "./modules/secrets"
  project_id = module.project_services.project_id
  location   = var.region
  labels     = local.labels
  encryption = module.encryption.encryption
  names      = var.secrets
  accessors  = local.secret_accessors
}

module "storage" {
  source        = "./modules/storage"
  project_id    = module.project_services.project_id
  prefix        = "${var.project_id}-${local.prefix}"
  location      = var.region
  labels        = local.labels
  encryption    = module.encryption.encryption
  retention     = var.retention
  force_destroy = !var.deletion_protection
  outputs       = values(local.account_buckets)
  grants = merge(
    local.account_bucket_grants,
    local.submitter_bucket_grants,
    local.job_account_bucket_grants,
    local.account_bucket_reader_grants,
    local.account_bucket_submitter_grants,
  )
}

module "messaging" {
  source         = "./modules/messaging"
  project_id     = module.project_services.project_id
  project_number = data.google_project.this.number
  prefix         = local.prefix
  region         = var.region
  labels         = local.labels
  encryption     = module.encryption.encryption
  upload_bucket  = module.storage.bucket_names["uploads"]
  publishers     = merge(local.account_publishers, local.submitter_publishers)
  schedules = {
    tick  = { topic = "tick", cron = var.schedule.watch, message = { type = "TICK" } }
    sweep = { topic = "teardown", cron = var.schedule.sweep, message = { type = "SWEEP" } }
  }
}

module "database" {
  source                 = "./modules/database"
  project_id             = module.project_services.project_id
  name                   = var.database.name
  location               = coalesce(var.database.location, var.region)
  encryption             = module.encryption.encryption
  deletion_protection    = var.deletion_protection
  point_in_time_recovery = var.database.point_in_time_recovery
}

module "network" {
  count      = var.network.existing == null ? 1 : 0
  source     = "./modules/network"
  project_id = module.project_services.project_id
  name       = local.prefix
  vm_tag     = "${local.prefix}-vm"
  subnets    = local.subnets
  nat        = var.network.nat
  flow_logs  = var.network.flow_logs
  shell      = var.shell_access != null
}

module "functions" {
  source        = "./modules/functions"
  project_id    = module.project_services.project_id
  prefix        = local.prefix
  region        = var.region
  labels        = local.labels
  encryption    = module.encryption.encryption
  vpc_connector = var.functions_vpc_connector
  source_bucket = module.storage.bucket_names["sources"]
  source_dir    = local.build_dir
  build_account = { name = module.identities.names["build"], member = module.identities.members["build"] }
  functions = {
    for name, function in local.functions : name => merge(function, {
      service_account = module.identities.emails[name]
      environment     = { for setting in function.settings : setting => local.settings[setting] }
      invokers        = local.invokers[name]
      is_image_shared = name == "api" && local.has_page
    })
  }
  delivery = {
    topic_ids         = module.messaging.topic_ids
    dead_letter_topic = "dead-letters"
    push_account      = module.identities.emails["push"]
    service_agent     = module.messaging.service_agent
  }
}

module "observability" {
  source         = "./modules/observability"
  project_id     = module.project_services.project_id
  project_number = data.google_project.this.number
  prefix         = local.prefix
  encryption     = module.encryption.encryption
  alerts         = var.alerts
  budget         = var.budget
  subscriptions  = module.functions.subscription_names
  log_bucket     = local.has_log_bucket ? { location = var.region, retention_days = var.retention.logs_days } : null
  uptime_host    = var.api_access.ingress == "ALLOW_ALL" ? trimprefix(local.api_url, "https://") : null
}
