# The least that a deployment needs: a project, and an image for VMs to boot from.
variable "project_id" {
  description = "The project that Dropforge goes into."
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
  description = "Submits a first job."
  value       = module.dropforge.submit_command
}
