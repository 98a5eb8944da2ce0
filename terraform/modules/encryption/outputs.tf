output "encryption" {
  description = "The key, once the services may use it; null where there is none."
  value       = var.encryption
  depends_on  = [google_kms_crypto_key_iam_member.agent]
}
