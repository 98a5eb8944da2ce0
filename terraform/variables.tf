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
    condition     = var.alerts.backlog_minutes >= 5 && var.alerts.vm_age_hours_max >= 1
    error_message = "backlog_minutes is at least 5, and vm_age_hours_max at least 1."
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

variable "functions_dir" {
  description = "Where `npm run build` left NAME.zip for each function; null for dist/functions of this checkout."
  type        = string
  default     = null
}

variable "jobs" {
  description = "What holds for jobs that do not say otherwise. Without zones, all that have the machine."
  type = object({
    region          = optional(string)
    runtime_version = optional(string)
    zones           = optional(list(string), [])
  })
  nullable = false
  default  = {}
  validation {
    condition     = alltrue([for zone in var.jobs.zones : can(regex("^[a-z]+-[a-z]+[0-9]+-[a-z]$", zone))])
    error_message = "Zones look like us-central1-a."
  }
  validation {
    condition = (
      var.jobs.runtime_version == null
      ? length(var.runtime_images) <= 1
      : contains(keys(var.runtime_images), coalesce(var.jobs.runtime_version, "-"))
    )
    error_message = "Which of the runtime_images is for jobs that name none? Say it: jobs = { runtime_version = ... }."
  }
}

variable "kms_key_name" {
  description = "Encrypts buckets, topics and the database, in whose location it is; null for Google's own keys."
  type        = string
  default     = null
  validation {
    condition = var.kms_key_name == null || can(regex(
      "^projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+$", var.kms_key_name
    ))
    error_message = "Give the key's full name, without a version: projects/P/locations/L/keyRings/R/cryptoKeys/K."
  }
}

variable "labels" {
  description = "For everything that can have labels; by them the bill can be read."
  type        = map(string)
  nullable    = false
  default     = {}
}

variable "network" {
  description = "A subnet for every region in which jobs may run; NAT costs money also while nothing runs (README)."
  type = object({
    subnets   = optional(map(string), {})
    nat       = optional(bool, false)
    flow_logs = optional(bool, false)
  })
  nullable = false
  default  = {}
  validation {
    condition     = alltrue([for range in values(var.network.subnets) : can(cidrhost(range, 0))])
    error_message = "subnets maps a region to a range of addresses: { us-central1 = \"10.80.0.0/20\" }."
  }
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

variable "runtime_images" {
  description = "What VMs boot from, by runtime version: copies of a machine image, a custom image, or both; or another runtime in its place, which jobs are warned of."
  type = map(object({
    machine_images = optional(list(string), [])
    image          = optional(string)
    python_version = optional(string)
    runtime        = optional(string)
    note           = optional(string)
  }))
  nullable = false
  validation {
    condition     = length(var.runtime_images) > 0
    error_message = "Without an image no job can run. infra/machine-image says how one is made."
  }
  validation {
    condition = alltrue([
      for entry in values(var.runtime_images) :
      length(entry.machine_images) > 0 || entry.image != null || entry.runtime != null
    ])
    error_message = "Every runtime names machine_images, an image, or both; or the runtime in its place."
  }
  validation {
    condition = alltrue([
      for entry in values(var.runtime_images) :
      entry.runtime == null || try(var.runtime_images[entry.runtime].runtime, "") == null
    ])
    error_message = "A runtime that stands in for another is one of runtime_images, with an image of its own."
  }
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
