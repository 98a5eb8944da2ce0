output "deployment" {
  description = "Deployment file for the CLI: terraform output -json deployment > deployment.json"
  value       = module.dropforge.deployment
}

output "service_accounts" {
  description = "Accounts to grant access to data buckets, and to name in ingress and egress rules."
  value       = module.dropforge.service_accounts
}

output "upload_bucket" {
  description = "Bucket to which jobs are submitted."
  value       = module.dropforge.upload_bucket
}
