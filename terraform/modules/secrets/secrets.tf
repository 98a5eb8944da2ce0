# Without values, which would be readable in Terraform's state.
resource "google_secret_manager_secret" "this" {
  for_each  = var.names
  project   = var.project_id
  secret_id = each.key
  labels    = var.labels

  replication {
    dynamic "auto" {
      for_each = var.encryption == null ? ["everywhere"] : []
      content {}
    }

    # A key encrypts data in its own location; automatic replication requires a global key.
    dynamic "user_managed" {
      for_each = var.encryption == null ? [] : [var.encryption]
      content {
        replicas {
          location = var.location
          customer_managed_encryption {
            kms_key_name = user_managed.value.kms_key_name
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
