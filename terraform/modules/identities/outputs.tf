output "emails" {
  description = "The accounts' addresses, once they have their rights in the project."
  value       = { for name, account in google_service_account.this : name => account.email }
  depends_on  = [google_project_iam_member.this, google_service_account_iam_member.actor]
}

output "members" {
  description = "The accounts as members of a policy."
  value       = { for name, account in google_service_account.this : name => account.member }
}

output "names" {
  description = "The accounts' full names: projects/P/serviceAccounts/EMAIL."
  value       = { for name, account in google_service_account.this : name => account.name }
  depends_on  = [google_project_iam_member.this]
}
