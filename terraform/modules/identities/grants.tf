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
  role = (
    startswith(each.value.role, "roles/")
    ? each.value.role
    : google_project_iam_custom_role.this[each.value.role].name
  )
  member = each.value.member
}

locals {
  # The project of an account that is created elsewhere is in its address: NAME@PROJECT.iam.gserviceaccount.com, and of a
  # project example.com:PROJECT, NAME@PROJECT.example.com.iam.gserviceaccount.com.
  external_domains = {
    for grant in values(var.actor_grants) :
    grant.acts_as => split(".", trimsuffix(split("@", grant.acts_as)[1], ".iam.gserviceaccount.com"))...
    if strcontains(grant.acts_as, "@")
  }
  external_names = {
    for email, domains in local.external_domains : email => format(
      "projects/%s/serviceAccounts/%s",
      join(":", compact([join(".", slice(domains[0], 1, length(domains[0]))), domains[0][0]])),
      email,
    )
  }
}

resource "google_service_account_iam_member" "actor" {
  for_each = var.actor_grants
  service_account_id = (
    strcontains(each.value.acts_as, "@")
    ? local.external_names[each.value.acts_as]
    : google_service_account.this[each.value.acts_as].name
  )
  role   = "roles/iam.serviceAccountUser"
  member = google_service_account.this[each.value.account].member
}
