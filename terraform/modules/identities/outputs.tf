output "emails" {
  description = "E-mail addresses of the accounts; available once their project permissions are granted."
  value       = { for name, account in google_service_account.this : name => account.email }
  depends_on  = [google_project_iam_member.this, google_service_account_iam_member.actor]
}

output "members" {
  description = "IAM members of the accounts."
  value       = { for name, account in google_service_account.this : name => account.member }
}

output "names" {
  description = "Full names of the accounts: projects/P/serviceAccounts/EMAIL."
  value       = { for name, account in google_service_account.this : name => account.name }
  depends_on  = [google_project_iam_member.this]
}

output "external_names" {
  description = "Resource names of the accounts that others have made and that an account here acts as, by e-mail address."
  value       = local.external_names
}
