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

# Without it, members would see all jobs, and read what the programs of others printed.
variable "only_own_jobs" {
  description = "Removed: members of a deployment share all jobs."
  type        = any
  default     = null
  validation {
    condition     = var.only_own_jobs == null
    error_message = "only_own_jobs was removed: members of a deployment share all jobs. Deploy once for each group that must not see the other (docs/access.md), then leave only_own_jobs, operators and upload_users out."
  }
}

variable "operators" {
  description = "Removed with only_own_jobs."
  type        = any
  default     = null
  validation {
    condition     = var.operators == null
    error_message = "operators was removed with only_own_jobs: every member of a deployment may do everything with its jobs. Deploy once for each group that must not see the other (docs/access.md)."
  }
}

variable "upload_users" {
  description = "Removed with only_own_jobs."
  type        = any
  default     = null
  validation {
    condition     = var.upload_users == null
    error_message = "upload_users was removed with only_own_jobs: list the members of one group in submitters, who read all jobs of their deployment, and deploy once for each group that must not see the other (docs/access.md)."
  }
}

# Without it, the page would not know who submits, and the grant of the proxy's agent would be removed.
variable "iap_audience" {
  description = "Removed: the page has a service of its own."
  type        = any
  default     = null
  validation {
    condition     = var.iap_audience == null
    error_message = "iap_audience was removed: page_access deploys the page as a service of its own, with Identity-Aware Proxy. Set it instead, and turn the proxy off for the API: gcloud beta run services update dropforge-api --no-iap."
  }
}
