# What jobs run on.
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
    condition = length(setsubtract(
      [for place in concat([coalesce(var.jobs.region, var.region)], var.jobs.zones) : replace(place, "/-[a-z]$/", "")],
      var.network.existing != null ? var.network.existing.regions :
      length(var.network.subnets) > 0 ? keys(var.network.subnets) : [var.region],
    )) == 0
    error_message = "Jobs run in a region without a subnet. Name it: network = { subnets = { REGION = RANGE } }."
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

variable "network" {
  description = "Subnets by region of jobs, or existing ones, also of a Shared VPC. NAT has a standing cost (README)."
  type = object({
    subnets   = optional(map(string), {})
    nat       = optional(bool, false)
    flow_logs = optional(bool, false)
    existing = optional(object({
      subnetwork_pattern = string
      regions            = set(string)
    }))
  })
  nullable = false
  default  = {}
  validation {
    condition     = alltrue([for range in values(var.network.subnets) : can(cidrhost(range, 0))])
    error_message = "subnets maps a region to a range of addresses: { us-central1 = \"10.80.0.0/20\" }."
  }
  validation {
    condition = var.network.existing == null || try(
      length(var.network.existing.regions) > 0 && can(regex(
        "^projects/[^/]+/regions/({region}|[^/{}]+)/subnetworks/[^/{}]+$", var.network.existing.subnetwork_pattern
      )),
      false,
    )
    error_message = "existing names regions, and their subnets: projects/HOST/regions/{region}/subnetworks/NAME."
  }
  validation {
    condition = var.network.existing == null || try(
      strcontains(var.network.existing.subnetwork_pattern, "/regions/{region}/")
      || var.network.existing.regions == toset([split("/", var.network.existing.subnetwork_pattern)[3]]),
      false,
    )
    error_message = "Put {region} into the pattern where the region belongs, or name the one region that it is in."
  }
  validation {
    condition = var.network.existing == null || (
      length(var.network.subnets) == 0 && !var.network.nat && !var.network.flow_logs
    )
    error_message = "Existing subnets have a NAT and flow logs of their own: leave subnets, nat and flow_logs out."
  }
}

variable "runtime_images" {
  description = "What VMs boot from, by runtime version: machine images, an image, or both; or a runtime in its place."
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

variable "secrets" {
  description = "Names of Secret Manager secrets that jobs may use. They are made without values: secret_commands."
  type        = set(string)
  nullable    = false
  default     = []
  validation {
    condition     = alltrue([for name in var.secrets : can(regex("^[A-Za-z0-9_-]{1,255}$", name))])
    error_message = "A secret is named with letters, digits, dashes and underscores, 255 at most, and never its value."
  }
}

variable "vms" {
  description = "What holds for every VM. Secure Boot needs images whose drivers are signed, as our own images' are."
  type        = object({ secure_boot = optional(bool, false) })
  nullable    = false
  default     = {}
}
