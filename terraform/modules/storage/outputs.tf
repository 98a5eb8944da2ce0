output "bucket_names" {
  description = "uploads, jobs and sources, once everybody has their rights there."
  value       = { for name, bucket in google_storage_bucket.this : name => bucket.name }
  depends_on  = [google_storage_bucket_iam_member.this]
}
