# The resources that jobs may name instead of the deployment's own account, network and key (docs/rights.md). Empty
# lists allow none.
variable "job_accounts" {
  description = "E-mail addresses of service accounts that jobs may run as. Each gets a bucket, and may write logs."
  type        = list(string)
  nullable    = false
  default     = []
  validation {
    condition = alltrue([
      for email in var.job_accounts :
      can(regex("^[a-z][a-z0-9-]{4,28}[a-z0-9]@[a-z0-9.-]{6,90}\\.iam\\.gserviceaccount\\.com$", email)) &&
      !startswith(email, "service-")
    ])
    error_message = "List user-managed service accounts: NAME@PROJECT.iam.gserviceaccount.com, no default accounts or agents."
  }
  validation {
    condition     = alltrue([for email in var.job_accounts : !startswith(email, "dropforge-")])
    error_message = "The deployment's accounts have rights that no program may have. A job without serviceAccount runs as dropforge-vm."
  }
  validation {
    condition     = length(var.job_accounts) <= 100 && length(distinct(var.job_accounts)) == length(var.job_accounts)
    error_message = "List at most 100 accounts, each once."
  }
}

variable "job_account_secrets" {
  description = "Names of secrets that each of job_accounts reads; other accounts cannot."
  type        = map(set(string))
  nullable    = false
  default     = {}
  validation {
    condition     = length(setsubtract(keys(var.job_account_secrets), var.job_accounts)) == 0
    error_message = "job_account_secrets has an account that is not one of job_accounts."
  }
  validation {
    condition     = length(setsubtract(flatten([for names in values(var.job_account_secrets) : tolist(names)]), var.secrets)) == 0
    error_message = "job_account_secrets has a secret that is not one of secrets."
  }
}

variable "job_networks" {
  description = "Networks that jobs may use: the subnetwork of VMs by region, and network attachments for a second interface."
  type = map(object({
    subnetworks         = optional(map(string), {})
    network_attachments = optional(list(string), [])
    # Where VMs reach hosts outside of Google, by NAT or a proxy there. Null: not known.
    internet_regions = optional(set(string))
  }))
  nullable = false
  default  = {}
  validation {
    condition = alltrue([
      for name in keys(var.job_networks) : can(regex("^projects/[^/]+/global/networks/[a-z][a-z0-9-]*$", name))
    ])
    error_message = "Use the full name of a network: projects/PROJECT/global/networks/NAME."
  }
  validation {
    condition = alltrue(flatten([
      for network in values(var.job_networks) : [
        for region, name in network.subnetworks :
        can(regex("^projects/[^/]+/regions/${region}/subnetworks/[a-z][a-z0-9-]*$", name))
      ]
    ]))
    error_message = "subnetworks maps a region to a subnetwork in it: us-central1 = \"projects/P/regions/us-central1/subnetworks/NAME\"."
  }
  validation {
    condition = alltrue(flatten([
      for network in values(var.job_networks) : [
        for name in network.network_attachments :
        can(regex("^projects/[^/]+/regions/[a-z]+-[a-z]+[0-9]+/networkAttachments/[a-z][a-z0-9-]*$", name))
      ]
    ]))
    error_message = "Use full names of network attachments: projects/P/regions/REGION/networkAttachments/NAME."
  }
}

variable "job_keys" {
  description = "Cloud KMS keys with which jobs may encrypt their disks. The Compute Engine Service Agent may use them."
  type        = list(string)
  nullable    = false
  default     = []
  validation {
    condition = alltrue([
      for name in var.job_keys :
      can(regex("^projects/[^/]+/locations/[a-z0-9-]+/keyRings/[A-Za-z0-9_-]+/cryptoKeys/[A-Za-z0-9_-]+$", name))
    ])
    error_message = "Use full names without a version: projects/P/locations/L/keyRings/R/cryptoKeys/K."
  }
}

variable "data_buckets" {
  description = "Buckets with data, also of other projects, that the VMs of all jobs may read, or read and write: { \"my-data\" = \"read\", \"my-results\" = \"write\" }."
  type        = map(string)
  nullable    = false
  default     = {}
  validation {
    condition = alltrue([
      for name, right in var.data_buckets : can(regex("^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$", name)) && contains(["read", "write"], right)
    ])
    error_message = "Map names of buckets, without gs://, to \"read\" or \"write\"."
  }
}
