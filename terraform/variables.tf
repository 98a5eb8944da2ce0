variable "alerts" {
  description = "Who is told, and when. Without e-mail addresses and channels, incidents are opened and nobody is told."
  type = object({
    emails                = optional(set(string), [])
    notification_channels = optional(set(string), [])
    backlog_minutes       = optional(number, 15)
    vm_age_hours_max      = optional(number, 192)
  })
  nullable = false
  default  = {}
  validation {
    # Ticks are kept for an hour.
    condition = (
      var.alerts.backlog_minutes >= 5 && var.alerts.backlog_minutes <= 45 && var.alerts.vm_age_hours_max >= 1
    )
    error_message = "backlog_minutes is 5 to 45, and vm_age_hours_max at least 1."
  }
}

variable "api_access" {
  description = "Who may call the HTTP API, as IAM members, and from where: it is never open to the public."
  type = object({
    members = optional(set(string), [])
    ingress = optional(string, "ALLOW_ALL")
  })
  nullable = false
  default  = {}
  validation {
    condition     = length(setintersection(var.api_access.members, ["allUsers", "allAuthenticatedUsers"])) == 0
    error_message = "The API cancels jobs and shows logs: name users, groups or service accounts, not everybody."
  }
  validation {
    condition = contains(
      ["ALLOW_ALL", "ALLOW_INTERNAL_ONLY", "ALLOW_INTERNAL_AND_GCLB"], var.api_access.ingress
    )
    error_message = "ingress is ALLOW_ALL, ALLOW_INTERNAL_ONLY or ALLOW_INTERNAL_AND_GCLB."
  }
}

variable "budget" {
  description = "Tells the billing account's administrators when a month has cost this much; null for no budget."
  type = object({
    billing_account = string
    amount          = number
    currency_code   = optional(string)
  })
  default = null
}

variable "custom_role_suffix" {
  description = "After the ids of our roles: those of deleted ones are kept back for a month (README, To remove everything)."
  type        = string
  nullable    = false
  default     = ""
}

variable "database" {
  description = "The Firestore database. Its location cannot be changed later; by default it is the region."
  type = object({
    name                   = optional(string, "dropforge")
    location               = optional(string)
    point_in_time_recovery = optional(bool, false)
  })
  nullable = false
  default  = {}
}

variable "deletion_protection" {
  description = "Keeps the database and buckets that are not empty from being destroyed. Apply false before a destroy."
  type        = bool
  nullable    = false
  default     = true
}

variable "encryption" {
  description = "A key of Cloud KMS for buckets, topics, database and disks, in its location; null for Google's own."
  type        = object({ kms_key_name = string })
  default     = null
  validation {
    condition = var.encryption == null || can(regex(
      "^projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+$", var.encryption.kms_key_name
    ))
    error_message = "Give the key's full name, without a version: projects/P/locations/L/keyRings/R/cryptoKeys/K."
  }
  validation {
    condition = var.encryption == null || alltrue([
      for entry in values(var.runtime_images) : entry.image != null || entry.runtime != null
    ])
    error_message = "A disk from a machine image cannot be given a key: every one of runtime_images needs an image too."
  }
}

variable "functions_dir" {
  description = "Where `npm run build` left NAME.zip for each function; null for dist/functions of this checkout."
  type        = string
  default     = null
}

variable "labels" {
  description = "For everything that can have labels; by them the bill can be read."
  type        = map(string)
  nullable    = false
  default     = {}
}

variable "project_id" {
  description = "The project, which has a billing account. It can have one deployment: names are fixed."
  type        = string
  nullable    = false
  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{4,28}[a-z0-9]$", var.project_id))
    error_message = "A project id has 6 to 30 small letters, digits and dashes; it is neither the name nor the number."
  }
}

variable "region" {
  description = "Where functions, buckets and the scheduler are. Jobs may run elsewhere."
  type        = string
  nullable    = false
  default     = "us-central1"
  validation {
    condition     = can(regex("^[a-z]+-[a-z]+[0-9]+$", var.region))
    error_message = "A region looks like us-central1; a zone has one more letter."
  }
}

variable "retention" {
  description = "After how many days data goes: null for never. Versions that were replaced go after noncurrent_days."
  type = object({
    uploads_days    = optional(number)
    jobs_days       = optional(number)
    noncurrent_days = optional(number, 7)
  })
  nullable = false
  default  = {}
}

variable "schedule" {
  description = "When the watcher looks for what is due, and when VMs that no job owns are swept away (cron, UTC)."
  type = object({
    watch = optional(string, "*/3 * * * *")
    sweep = optional(string, "*/5 * * * *")
  })
  nullable = false
  default  = {}
}

variable "submitters" {
  description = "Who may submit and cancel jobs, as IAM members such as group:…: their code runs on VMs."
  type        = set(string)
  nullable    = false
  default     = []
  validation {
    condition     = length(setintersection(var.submitters, ["allUsers", "allAuthenticatedUsers"])) == 0
    error_message = "Whoever submits runs programs at your expense: name users, groups or service accounts."
  }
}
