output "deployment" {
  description = "Deployment file for the CLI: terraform output -json deployment > deployment.json"
  value       = module.dropforge.deployment
}
