output "deployment" {
  description = "What the CLI has to know: terraform output -json deployment > deployment.json"
  value       = module.dropforge.deployment
}

output "service_accounts" {
  description = "Whom to grant data buckets to, and whom to name in ingress and egress rules."
  value       = module.dropforge.service_accounts
}

output "upload_bucket" {
  description = "Where jobs are submitted."
  value       = module.dropforge.upload_bucket
}
