# Expands the table of permissions.tf to one grant per cell, with keys that do not depend on other rows.
locals {
  database_condition = {
    title      = "own-database-only"
    expression = "resource.name == \"projects/${var.project_id}/databases/${var.database.name}\""
  }

  archive_condition = {
    title      = "archives-of-functions-only"
    expression = "resource.name.startsWith(\"projects/_/buckets/gcf-v2-sources-${data.google_project.this.number}-\")"
  }

  archive_grants = {
    for account, granted in local.permissions : "${account}/archives" => {
      account   = account
      role      = local.archive_roles[granted.archives]
      condition = local.archive_condition
    } if can(granted.archives)
  }

  database_grants = {
    for account, granted in local.permissions : "${account}/database" => {
      account   = account
      role      = local.database_roles[granted.database]
      condition = local.database_condition
    } if can(granted.database)
  }

  project_grants = merge(local.database_grants, local.archive_grants, [
    for account, granted in local.permissions : {
      for role in try(granted.project, []) : "${account}/${role}" => {
        account   = account
        role      = role
        condition = lookup(local.role_conditions, role, null)
      }
    }
  ]...)

  actor_grants = merge([
    for account, granted in local.permissions : {
      for actor in try(granted.acts_as, []) : "${account}/${actor}" => { account = account, acts_as = actor }
    }
  ]...)

  account_bucket_grants = merge(flatten([
    for account, granted in local.permissions : [
      for bucket in ["uploads", "jobs", "sources", "cache"] : {
        for right in try(granted[bucket], []) : "${account}/${bucket}/${right}" => {
          bucket    = bucket
          member    = module.identities.members[account]
          role      = local.bucket_roles[right]
          condition = lookup(local.bucket_conditions, right, null)
        }
      }
    ]
  ])...)

  submitter_bucket_grants = merge([
    for member in var.submitters : {
      "${member}/uploads" = { bucket = "uploads", member = member, role = "roles/storage.objectUser", condition = null }
      "${member}/jobs"    = { bucket = "jobs", member = member, role = "roles/storage.objectViewer", condition = null }
    }
  ]...)

  secret_accessors = {
    for account, granted in local.permissions : account => {
      member = module.identities.members[account]
      role   = local.secret_roles[granted.secrets]
    } if can(granted.secrets)
  }

  account_publishers = merge([
    for account, granted in local.permissions : {
      for topic in try(granted.publishes, []) : "${account}/${topic}" => {
        topic  = topic
        member = module.identities.members[account]
      }
    }
  ]...)

  submitter_publishers = merge([
    for member in var.submitters : {
      for topic in ["submit", "control"] : "${member}/${topic}" => { topic = topic, member = member }
    }
  ]...)

  invokers = merge(
    { for name in keys(local.event_functions) : name => { push = module.identities.members["push"] } },
    {
      heartbeat = merge(
        { vm = module.identities.members["vm"] },
        { for email in var.job_accounts : email => "serviceAccount:${email}" },
      )
    },
    { api = merge({ for member in var.api_access.members : member => member }, module.observability.uptime_caller) },
  )
}
