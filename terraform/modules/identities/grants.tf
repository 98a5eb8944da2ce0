resource "google_project_iam_custom_role" "this" {
  for_each    = var.custom_roles
  project     = var.project_id
  role_id     = "${replace(var.prefix, "-", "_")}_${each.key}${var.role_suffix}"
  title       = each.value.title
  description = each.value.description
  permissions = each.value.permissions
}

resource "google_project_iam_member" "this" {
  for_each = var.project_grants
  project  = var.project_id
  role = (
    startswith(each.value.role, "roles/")
    ? each.value.role
    : google_project_iam_custom_role.this[each.value.role].name
  )
  member = google_service_account.this[each.value.account].member

  dynamic "condition" {
    for_each = each.value.condition == null ? [] : [each.value.condition]
    content {
      title      = condition.value.title
      expression = condition.value.expression
    }
  }
}

resource "google_project_iam_member" "member" {
  for_each = var.member_grants
  project  = var.project_id
  role     = google_project_iam_custom_role.this[each.value.role].name
  member   = each.value.member
}

resource "google_service_account_iam_member" "actor" {
  for_each           = var.actor_grants
  service_account_id = google_service_account.this[each.value.acts_as].name
  role               = "roles/iam.serviceAccountUser"
  member             = google_service_account.this[each.value.account].member
}
