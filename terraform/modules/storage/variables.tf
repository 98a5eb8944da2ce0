variable "force_destroy" {
  description = "Whether non-empty buckets can be destroyed."
  type        = bool
  nullable    = false
  default     = false
}

variable "grants" {
  description = "IAM grants on the buckets uploads, jobs, sources and cache, and on those of outputs."
  type = map(object({
    bucket    = string
    role      = string
    member    = string
    condition = optional(object({ title = string, expression = string }))
  }))
  nullable = false
  default  = {}
  validation {
    condition = alltrue([
      for grant in values(var.grants) : contains(concat(["uploads", "jobs", "sources", "cache"], var.outputs), grant.bucket)
    ])
    error_message = "bucket must be uploads, jobs, sources, cache, or one of outputs."
  }
}

variable "encryption" {
  description = "Cloud KMS key (CMEK); null for Google-managed encryption."
  type        = object({ kms_key_name = string })
  default     = null
}

variable "labels" {
  description = "Labels of the buckets."
  type        = map(string)
  nullable    = false
  default     = {}
}

variable "location" {
  description = "Region. VMs in the same region have no data transfer costs."
  type        = string
  nullable    = false
}

variable "outputs" {
  description = "Further buckets for the outputs and installed packages of jobs with a service account of their own."
  type        = list(string)
  nullable    = false
  default     = []
  validation {
    condition     = alltrue([for name in var.outputs : can(regex("^jobs-[a-z0-9]{1,9}$", name))])
    error_message = "The names begin with jobs-, and have at most 14 characters."
  }
}

variable "prefix" {
  description = "Prefix of bucket names, which are globally unique: begin with the project id."
  type        = string
  nullable    = false
  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9-]{1,53}[a-z0-9]$", var.prefix))
    error_message = "The prefix has lowercase letters, digits and dashes; at most 63 characters with \"-uploads\"."
  }
}

variable "project_id" {
  description = "Project id."
  type        = string
  nullable    = false
}

variable "retention" {
  description = "Days until live objects and noncurrent versions are deleted; null for never."
  type = object({
    uploads_days    = optional(number)
    jobs_days       = optional(number)
    noncurrent_days = optional(number, 7)
  })
  nullable = false
  default  = {}
  validation {
    condition     = var.retention.noncurrent_days >= 1
    error_message = "noncurrent_days must be at least 1: a job's package may be replaced while the job waits."
  }
}
