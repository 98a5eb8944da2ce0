# The table of permissions.tf, cell by cell, under keys that stay what they are when other rows change.
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
    for account, may in local.permissions : "${account}/archives" => {
      account   = account
      role      = local.archive_roles[may.archives]
      condition = local.archive_condition
    } if can(may.archives)
  }

  database_grants = {
    for account, may in local.permissions : "${account}/database" => {
      account   = account
      role      = local.database_roles[may.database]
      condition = local.database_condition
    } if can(may.database)
  }

  project_grants = merge(local.database_grants, local.archive_grants, [
    for account, may in local.permissions : {
      for role in try(may.project, []) : "${account}/${role}" => { account = account, role = role }
    }
  ]...)

  actor_grants = merge([
    for account, may in local.permissions : {
      for actor in try(may.acts_as, []) : "${account}/${actor}" => { account = account, acts_as = actor }
    }
  ]...)

  account_bucket_grants = merge(flatten([
    for account, may in local.permissions : [
      for bucket in ["uploads", "jobs", "sources"] : {
        for right in try(may[bucket], []) : "${account}/${bucket}/${right}" => {
          bucket    = bucket
          member    = module.identities.members[account]
          role      = local.bucket_roles[right]
          condition = right == "report" ? local.report_condition : null
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
    for account, may in local.permissions : account => {
      member = module.identities.members[account]
      role   = local.secret_roles[may.secrets]
    } if can(may.secrets)
  }

  account_publishers = merge([
    for account, may in local.permissions : {
      for topic in try(may.publishes, []) : "${account}/${topic}" => {
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
    { heartbeat = { vm = module.identities.members["vm"] } },
    { api = { for member in var.api_access.members : member => member } },
  )
}
