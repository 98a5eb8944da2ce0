# Variables that affect jobs and their VMs.
variable "jobs" {
  description = "Defaults for jobs. Without zones, jobs may use every zone that offers the machine type."
  type = object({
    region          = optional(string)
    runtime_version = optional(string)
    zones           = optional(list(string), [])
  })
  nullable = false
  default  = {}
  validation {
    condition     = alltrue([for zone in var.jobs.zones : can(regex("^[a-z]+-[a-z]+[0-9]+-[a-z]$", zone))])
    error_message = "A zone has the form us-central1-a."
  }
  validation {
    condition = length(setsubtract(
      [for zone in concat([coalesce(var.jobs.region, var.region)], var.jobs.zones) : replace(zone, "/-[a-z]$/", "")],
      var.network.existing != null ? var.network.existing.regions :
      length(var.network.subnets) > 0 ? keys(var.network.subnets) : [var.region],
    )) == 0
    error_message = "A region or zone of jobs has no subnet. Add one: network = { subnets = { REGION = CIDR } }."
  }
  validation {
    condition = (
      var.jobs.runtime_version == null
      ? length(var.runtime_images) <= 1
      : contains(keys(var.runtime_images), coalesce(var.jobs.runtime_version, "-"))
    )
    error_message = "Set the default runtime, one of runtime_images: jobs = { runtime_version = ... }."
  }
}

variable "network" {
  description = "Subnets of VMs by region, or existing ones, also of a Shared VPC. NAT is billed while idle (README)."
  type = object({
    subnets   = optional(map(string), {})
    nat       = optional(bool, false)
    flow_logs = optional(bool, false)
    existing = optional(object({
      subnetwork_pattern = string
      regions            = set(string)
      # Where VMs reach hosts outside of Google, by NAT or a proxy there. Null: not known.
      internet_regions = optional(set(string))
    }))
  })
  nullable = false
  default  = {}
  validation {
    condition     = alltrue([for range in values(var.network.subnets) : can(cidrhost(range, 0))])
    error_message = "subnets maps a region to a CIDR range: { us-central1 = \"10.80.0.0/20\" }."
  }
  validation {
    condition = var.network.existing == null || try(
      length(var.network.existing.regions) > 0 && can(regex(
        "^projects/[^/]+/regions/({region}|[^/{}]+)/subnetworks/[^/{}]+$", var.network.existing.subnetwork_pattern
      )),
      false,
    )
    error_message = "existing requires regions, and a pattern: projects/HOST/regions/{region}/subnetworks/NAME."
  }
  validation {
    condition = var.network.existing == null || try(
      strcontains(var.network.existing.subnetwork_pattern, "/regions/{region}/")
      || var.network.existing.regions == toset([split("/", var.network.existing.subnetwork_pattern)[3]]),
      false,
    )
    error_message = "Use {region} in the pattern, or list only the region that the pattern contains."
  }
  validation {
    condition = var.network.existing == null || (
      length(var.network.subnets) == 0 && !var.network.nat && !var.network.flow_logs
    )
    error_message = "NAT and flow logs of existing subnets are configured there: remove subnets, nat and flow_logs."
  }
  validation {
    condition = try(
      length(setsubtract(coalesce(var.network.existing.internet_regions, []), var.network.existing.regions)) == 0, true
    )
    error_message = "internet_regions are those of regions in which VMs reach hosts outside of Google."
  }
}

variable "runtime_images" {
  description = "Boot images of VMs by runtime version: machine images, an image, or both, the processors and GPUs that they support; or another runtime to use."
  type = map(object({
    machine_images = optional(list(string), [])
    image          = optional(string)
    architecture   = optional(string, "X86_64")
    python_version = optional(string)
    gpus           = optional(list(string))
    runtime        = optional(string)
    note           = optional(string)
  }))
  nullable = false
  validation {
    condition     = length(var.runtime_images) > 0
    error_message = "At least one runtime image is required. infra/machine-image describes how to build one."
  }
  validation {
    condition = alltrue([
      for entry in values(var.runtime_images) :
      length(entry.machine_images) > 0 || entry.image != null || entry.runtime != null
    ])
    error_message = "Every runtime requires machine_images, an image, or both; or the runtime to use instead."
  }
  validation {
    condition = alltrue([
      for entry in values(var.runtime_images) :
      entry.runtime == null || try(var.runtime_images[entry.runtime].runtime, "") == null
    ])
    error_message = "A runtime that replaces another must be one of runtime_images, and must have its own image."
  }
  validation {
    # Compute Engine's names (gcloud compute images describe IMAGE --format="value(architecture)").
    condition     = alltrue([for entry in values(var.runtime_images) : contains(["X86_64", "ARM64"], coalesce(entry.architecture, "-"))])
    error_message = "architecture is X86_64 or ARM64: that of the image. Arm machine types, such as C4A and A4X, require ARM64."
  }
}

variable "secrets" {
  description = "Names of Secret Manager secrets for jobs. They are created without values; see secret_commands."
  type        = set(string)
  nullable    = false
  default     = []
  validation {
    condition     = alltrue([for name in var.secrets : can(regex("^[A-Za-z0-9_-]{1,255}$", name))])
    error_message = "A secret name has 1 to 255 letters, digits, dashes and underscores. Never put a value here."
  }
}

variable "vms" {
  description = "Options of all VMs. Secure Boot requires signed drivers, as in the images of infra/machine-image."
  type        = object({ secure_boot = optional(bool, false) })
  nullable    = false
  default     = {}
}

variable "vms_max" {
  description = "How many VMs of all jobs may exist at a time, from the request of each until it is gone. Others wait."
  type        = number
  nullable    = false
  default     = 100
  validation {
    condition     = var.vms_max >= 1 && var.vms_max <= 1000 && floor(var.vms_max) == var.vms_max
    error_message = "vms_max is a whole number from 1 to 1000."
  }
}

variable "usd_per_hour_max" {
  description = "US dollars an hour that the VMs of all jobs may cost together at list price; null for no limit but vms_max."
  type        = number
  default     = 100
  validation {
    condition     = try(var.usd_per_hour_max > 0, true)
    error_message = "usd_per_hour_max is more than 0, or null."
  }
}
