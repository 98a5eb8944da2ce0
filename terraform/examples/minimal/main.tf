# The smallest deployment: a project, and an image for VMs to boot from.
variable "project_id" {
  description = "Project to deploy to."
  type        = string
}

module "dropforge" {
  source     = "../.."
  project_id = var.project_id

  runtime_images = {
    "2.11" = { image = "dropforge-2-11", python_version = "3.10" }
  }
}

output "submit_command" {
  description = "Example command that submits a job."
  value       = module.dropforge.submit_command
}
