output "encryption" {
  description = "The key; available once the services may use it. Null without a key."
  value       = var.encryption
  depends_on  = [google_kms_crypto_key_iam_member.agent]
}
