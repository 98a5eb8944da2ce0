output "kms_key_name" {
  description = "The key, once the services may use it; null where there is none."
  value       = var.kms_key_name
  depends_on  = [google_kms_crypto_key_iam_member.agent]
}
