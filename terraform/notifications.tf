# Notification channels (docs/notifications.md). Without any, none of this exists.
locals {
  has_notifications = length(var.notifications) > 0

  notification_secrets = toset(flatten([
    for channel in values(var.notifications) : compact([channel.secret, channel.signing_secret])
  ]))
}

module "notification_secrets" {
  source     = "./modules/secrets"
  project_id = module.project_services.project_id
  location   = var.region
  labels     = local.labels
  encryption = module.encryption.encryption
  names      = local.notification_secrets
  accessors = {
    for account, granted in local.permissions : account => {
      member = module.identities.members[account]
      role   = local.secret_roles[granted.notification_secrets]
    } if can(granted.notification_secrets)
  }
}
