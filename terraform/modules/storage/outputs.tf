output "bucket_names" {
  description = "Names of the buckets uploads, jobs, sources and cache; available once their grants exist."
  value       = { for name, bucket in google_storage_bucket.this : name => bucket.name }
  depends_on  = [google_storage_bucket_iam_member.this]
}
