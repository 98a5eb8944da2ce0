variable "alerts" {
  description = "Alert recipients and thresholds. Without e-mails and channels, incidents open without notification."
  type = object({
    emails                = optional(set(string), [])
    notification_channels = optional(set(string), [])
    backlog_minutes       = optional(number, 15)
    vm_age_hours_max      = optional(number, 192)
  })
  nullable = false
  default  = {}
  validation {
    # Ticks are retained for an hour.
    condition = (
      var.alerts.backlog_minutes >= 5 && var.alerts.backlog_minutes <= 45 && var.alerts.vm_age_hours_max >= 1
    )
    error_message = "backlog_minutes must be 5 to 45, and vm_age_hours_max at least 1."
  }
}

variable "api_access" {
  description = "IAM members that may call the HTTP API, and thereby start jobs and read their files, and its ingress."
  type = object({
    members = optional(set(string), [])
    ingress = optional(string, "ALLOW_ALL")
  })
  nullable = false
  default  = {}
  validation {
    condition     = length(setintersection(var.api_access.members, ["allUsers", "allAuthenticatedUsers"])) == 0
    error_message = "The API starts and cancels jobs and shows logs: list users, groups or service accounts, not the public."
  }
  validation {
    condition = contains(
      ["ALLOW_ALL", "ALLOW_INTERNAL_ONLY", "ALLOW_INTERNAL_AND_GCLB"], var.api_access.ingress
    )
    error_message = "ingress must be ALLOW_ALL, ALLOW_INTERNAL_ONLY or ALLOW_INTERNAL_AND_GCLB."
  }
}

variable "budget" {
  description = "Monthly budget that notifies the billing account's administrators; null for no budget."
  type = object({
    billing_account = string
    amount          = number
    currency_code   = optional(string)
  })
  default = null
}

variable "custom_role_suffix" {
  description = "Suffix of custom role ids: deleted ids are reserved for a month (README, Update and remove)."
  type        = string
  nullable    = false
  default     = ""
}

variable "database" {
  description = "The Firestore database. Its location cannot be changed later, and defaults to the region."
  type = object({
    name                   = optional(string, "dropforge")
    location               = optional(string)
    point_in_time_recovery = optional(bool, false)
  })
  nullable = false
  default  = {}
}

variable "deletion_protection" {
  description = "Prevents destroying the database and non-empty buckets. Apply with false before a destroy."
  type        = bool
  nullable    = false
  default     = true
}

variable "encryption" {
  description = "Cloud KMS key of buckets, topics, database and disks, in its location; null for Google-managed keys."
  type        = object({ kms_key_name = string })
  default     = null
  validation {
    condition = var.encryption == null || can(regex(
      "^projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+$", var.encryption.kms_key_name
    ))
    error_message = "Use the key's full name without a version: projects/P/locations/L/keyRings/R/cryptoKeys/K."
  }
  validation {
    # Cloud Storage, Firestore and Secret Manager accept a key of their own location only.
    condition = var.encryption == null || try(
      split("/", var.encryption.kms_key_name)[3] == var.region
      && split("/", var.encryption.kms_key_name)[3] == coalesce(var.database.location, var.region),
      false,
    )
    error_message = "The key must be in the location of buckets, topics and secrets, ${var.region}, and of the database."
  }
  validation {
    condition = var.encryption == null || alltrue([
      for entry in values(var.runtime_images) : entry.image != null || entry.runtime != null
    ])
    error_message = "Disks from machine images cannot use the key: every one of runtime_images requires an image."
  }
}

variable "functions_vpc_connector" {
  description = "Serverless VPC Access connector of functions and page, in the region, if the organization requires one (README)."
  type = object({
    name   = string
    egress = optional(string, "ALL_TRAFFIC")
  })
  default = null
  validation {
    condition = var.functions_vpc_connector == null || try(
      can(regex("^projects/[^/]+/locations/${var.region}/connectors/[^/]+$", var.functions_vpc_connector.name))
      && contains(["ALL_TRAFFIC", "PRIVATE_RANGES_ONLY"], var.functions_vpc_connector.egress),
      false,
    )
    error_message = "Use projects/P/locations/${var.region}/connectors/NAME; egress is ALL_TRAFFIC or PRIVATE_RANGES_ONLY."
  }
}

variable "functions_dir" {
  description = "Directory with NAME.zip of each function and agent.pyz (`npm run build`); null for dist/functions of the checkout."
  type        = string
  default     = null
}

variable "labels" {
  description = "Labels of all resources that support them, for example for cost allocation."
  type        = map(string)
  nullable    = false
  default     = {}
}

variable "page_access" {
  description = "IAM members that may open the page in a browser, through Identity-Aware Proxy, and its ingress; null for no such page."
  type = object({
    members = set(string)
    ingress = optional(string, "ALLOW_ALL")
  })
  default = null
  validation {
    condition = var.page_access == null || try(
      length(var.page_access.members) > 0
      && length(setintersection(var.page_access.members, ["allUsers", "allAuthenticatedUsers"])) == 0,
      false,
    )
    error_message = "The page starts and cancels jobs and shows logs: list users, groups or domains, not the public."
  }
  validation {
    condition = contains(
      ["ALLOW_ALL", "ALLOW_INTERNAL_ONLY", "ALLOW_INTERNAL_AND_GCLB"], try(var.page_access.ingress, "ALLOW_ALL")
    )
    error_message = "ingress must be ALLOW_ALL, ALLOW_INTERNAL_ONLY or ALLOW_INTERNAL_AND_GCLB."
  }
}

variable "project_id" {
  description = "Id of a project with a billing account. Names are fixed, so a project has at most one deployment."
  type        = string
  nullable    = false
  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{4,28}[a-z0-9]$", var.project_id))
    error_message = "A project id has 6 to 30 lowercase letters, digits and dashes; not the project's name or number."
  }
}

variable "region" {
  description = "Region of functions, buckets and the scheduler. Jobs may run in other regions."
  type        = string
  nullable    = false
  default     = "us-central1"
  validation {
    condition     = can(regex("^[a-z]+-[a-z]+[0-9]+$", var.region))
    error_message = "A region has the form us-central1, without the letter of a zone."
  }
}

variable "retention" {
  description = "Days until objects are deleted, null for never, and until logs are, 0 to leave them in the project's bucket _Default. Noncurrent versions are deleted after noncurrent_days; all but the three newest of an output, after one."
  type = object({
    uploads_days    = optional(number)
    jobs_days       = optional(number)
    noncurrent_days = optional(number, 7)
    logs_days       = optional(number, 30)
  })
  nullable = false
  default  = {}
  validation {
    condition     = var.retention.logs_days >= 0 && var.retention.logs_days <= 3650
    error_message = "logs_days must be 1 to 3650, or 0 to leave logs in the bucket _Default."
  }
}

variable "schedule" {
  description = "Cron schedules (UTC) of the reconciler (watch) and of the sweep of orphaned VMs."
  type = object({
    watch = optional(string, "*/3 * * * *")
    sweep = optional(string, "*/5 * * * *")
  })
  nullable = false
  default  = {}
}

variable "submitters" {
  description = "IAM members, such as group:…, that may submit and cancel jobs. Their code runs on VMs."
  type        = set(string)
  nullable    = false
  default     = []
  validation {
    condition     = length(setintersection(var.submitters, ["allUsers", "allAuthenticatedUsers"])) == 0
    error_message = "Submitters run programs at your expense: list users, groups or service accounts, not the public."
  }
}
