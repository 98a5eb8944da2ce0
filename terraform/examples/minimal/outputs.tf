output "deployment" {
  description = "What the CLI has to know: terraform output -json deployment > deployment.json"
  value       = module.dropforge.deployment
}
