# Variables of earlier versions whose silent loss would be harmful: Terraform only warns of a value for an unknown variable,
# so these fail the plan and name what to use instead. Each has type = any, default = null, and one validation:
# condition = var.NAME == null.

variable "update_followers" {
  description = "Removed: the CLI polls the API."
  type        = any
  default     = null
  validation {
    condition     = var.update_followers == null
    error_message = "Remove update_followers: the CLI polls the API, with api_access. Own subscribers: docs/job-updates.md."
  }
}
