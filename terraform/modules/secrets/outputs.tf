output "names" {
  description = "Secret ids; available once jobs may read them."
  value       = { for name, secret in google_secret_manager_secret.this : name => secret.secret_id }
  depends_on  = [google_secret_manager_secret_iam_member.this]
}
