# Accounts have no keys: functions and VMs get their tokens from the metadata server.
resource "google_service_account" "this" {
  for_each     = var.accounts
  project      = var.project_id
  account_id   = "${var.prefix}-${each.key}"
  display_name = "Dropforge ${each.key}"
  description  = each.value.description
}
