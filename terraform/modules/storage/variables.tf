variable "force_destroy" {
  description = "Whether a bucket is destroyed with what is in it."
  type        = bool
  nullable    = false
  default     = false
}

variable "grants" {
  description = "Who may do what in which bucket (uploads, jobs or sources)."
  type = map(object({
    bucket    = string
    role      = string
    member    = string
    condition = optional(object({ title = string, expression = string }))
  }))
  nullable = false
  default  = {}
  validation {
    condition     = alltrue([for grant in values(var.grants) : contains(["uploads", "jobs", "sources"], grant.bucket)])
    error_message = "The buckets are uploads, jobs and sources."
  }
}

variable "encryption" {
  description = "A key of Cloud KMS in place of Google's own; null for Google's."
  type        = object({ kms_key_name = string })
  default     = null
}

variable "labels" {
  description = "For the buckets."
  type        = map(string)
  nullable    = false
  default     = {}
}

variable "location" {
  description = "A region: VMs there read and write without traffic costs."
  type        = string
  nullable    = false
}

variable "prefix" {
  description = "Before the buckets' names, which are unique in the world: begin with the project."
  type        = string
  nullable    = false
  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9-]{1,53}[a-z0-9]$", var.prefix))
    error_message = "Bucket names are small letters, digits and dashes, 63 at most with \"-uploads\" at their end."
  }
}

variable "project_id" {
  description = "The project."
  type        = string
  nullable    = false
}

variable "retention" {
  description = "After how many days objects and replaced versions are deleted; null for never."
  type = object({
    uploads_days    = optional(number)
    jobs_days       = optional(number)
    noncurrent_days = optional(number, 7)
  })
  nullable = false
  default  = {}
  validation {
    condition     = var.retention.noncurrent_days >= 1
    error_message = "A job's package may be replaced while the job waits: keep replaced versions for a day at least."
  }
}
