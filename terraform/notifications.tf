# Notification channels (docs/notifications.md). Without any, none of this exists.
locals {
  has_notifications = length(var.notifications) > 0

  notification_secrets = toset(flatten([
    for channel in values(var.notifications) : compact([channel.secret, channel.signing_secret])
  ]))

  # What a channel can be notified of: its states, what a job asks for, and its tests. INTERRUPTED is an attempt that is
  # QUEUED again. The function decides; the filter keeps it from being called for every other message.
  channel_conditions = {
    for name, channel in var.notifications : name => join(" OR ", concat(
      ["attributes:notify", "attributes.channel=\"${name}\""],
      [
        for state in sort(tolist(toset([for state in channel.states : state == "INTERRUPTED" ? "QUEUED" : state]))) :
        "attributes.state=\"${state}\""
      ],
    ))
  }

  # Pub/Sub allows 256 bytes.
  channel_filters = {
    for name, channel in var.notifications : name => (
      channel.trials ? local.channel_conditions[name]
      : length(local.channel_conditions[name]) > 220 ? "NOT attributes:tuningId"
      : "NOT attributes:tuningId AND (${local.channel_conditions[name]})"
    )
  }
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
