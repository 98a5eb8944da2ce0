# Shells in VMs, through Identity-Aware Proxy and OS Login: only if shell_access is set (docs/shell.md).
locals {
  shell_members = try(var.shell_access.members, [])

  shell_roles = {
    # Opens a tunnel to port 22 of the VMs, which have no public addresses.
    "roles/iap.tunnelResourceAccessor" = {
      title      = "ssh-only"
      expression = "destination.port == 22"
    }
    # Members log in as root, since programs run as root: without it, a member could not read what the program reads.
    "roles/compute.osAdminLogin" = {
      title      = "vms-of-jobs-only"
      expression = "resource.type != \"compute.googleapis.com/Instance\" || resource.name.extract(\"/instances/{name}\").startsWith(\"df-\")"
    }
  }

  shell_grants = merge([
    for member in local.shell_members : {
      for role, condition in local.shell_roles : "${member}/${role}" => { member = member, role = role, condition = condition }
    }
  ]...)
}

resource "google_project_iam_member" "shell" {
  for_each = local.shell_grants
  project  = module.project_services.project_id
  role     = each.value.role
  member   = each.value.member

  condition {
    title      = each.value.condition.title
    expression = each.value.condition.expression
  }
}

# OS Login requires it on VMs with a service account: a shell in a VM is the right to act as its account.
resource "google_service_account_iam_member" "shell" {
  for_each = merge([
    for member in local.shell_members : {
      for account in concat(["vm"], var.job_accounts) : "${member}/${account}" => { member = member, account = account }
    }
  ]...)
  service_account_id = (
    each.value.account == "vm"
    ? "projects/${var.project_id}/serviceAccounts/${module.identities.emails["vm"]}"
    : module.identities.external_names[each.value.account]
  )
  role   = "roles/iam.serviceAccountUser"
  member = each.value.member
}
