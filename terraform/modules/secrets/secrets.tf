# Without values, which would be readable in Terraform's state.
resource "google_secret_manager_secret" "this" {
  for_each  = var.names
  project   = var.project_id
  secret_id = each.key
  labels    = var.labels

  # In the region, as all else: automatic replication requires a policy on locations that allows every one, and with a
  # key a global one.
  replication {
    user_managed {
      replicas {
        location = var.location
        dynamic "customer_managed_encryption" {
          for_each = var.encryption == null ? [] : [var.encryption]
          content {
            kms_key_name = customer_managed_encryption.value.kms_key_name
          }
        }
      }
    }
  }
}

locals {
  grants = merge([
    for account, accessor in var.accessors : {
      for name in var.names : "${account}/${name}" => merge(accessor, { name = name })
    }
  ]...)
}

resource "google_secret_manager_secret_iam_member" "this" {
  for_each  = local.grants
  project   = var.project_id
  secret_id = google_secret_manager_secret.this[each.value.name].secret_id
  role      = each.value.role
  member    = each.value.member
}
