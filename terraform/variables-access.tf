# Who may do what with the jobs of others (docs/own-jobs.md). By default, members share all jobs.
variable "only_own_jobs" {
  description = "Whether members of api_access cancel, and read the logs and files of, their own jobs only; they see all."
  type        = bool
  nullable    = false
  default     = false
  validation {
    condition     = !var.only_own_jobs || length(setsubtract(var.submitters, var.operators)) == 0
    error_message = "With only_own_jobs, submitters must be operators: they cancel any job through the topic control and read the jobs bucket. List the others in upload_users."
  }
}

variable "operators" {
  description = "IAM members, user:… or serviceAccount:…, that may do everything with all jobs."
  type        = set(string)
  nullable    = false
  default     = []
  validation {
    condition     = alltrue([for member in var.operators : can(regex("^(user|serviceAccount):[^,@/ ]+@[^,@/ ]+$", member))])
    error_message = "Operators are user:EMAIL or serviceAccount:EMAIL: the API does not know the members of groups (docs/own-jobs.md has how to list them)."
  }
}

variable "upload_users" {
  description = "IAM members, user:… or serviceAccount:…, that may upload into a folder of their own, users/EMAIL/. Requires only_own_jobs."
  type        = set(string)
  nullable    = false
  default     = []
  validation {
    condition     = alltrue([for member in var.upload_users : can(regex("^(user|serviceAccount):[a-z0-9._%+-]+@[a-z0-9.-]+$", member))])
    error_message = "A folder belongs to one address in lowercase: list user:EMAIL or serviceAccount:EMAIL."
  }
  validation {
    condition     = var.only_own_jobs || length(var.upload_users) == 0
    error_message = "upload_users have an effect only with only_own_jobs: use submitters."
  }
}

variable "iap_audience" {
  description = "Audience of Identity-Aware Proxy's assertions for the API; null if it is not behind one."
  type        = string
  default     = null
}
