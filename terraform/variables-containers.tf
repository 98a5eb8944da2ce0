# Container images of jobs, and who may read them (docs/containers.md).
variable "image_repositories" {
  description = "Artifact Registry repositories whose images jobs may run: projects/PROJECT/locations/LOCATION/repositories/NAME."
  type        = set(string)
  nullable    = false
  default     = []
  validation {
    condition = length(var.image_repositories) <= 100 && alltrue([
      for name in var.image_repositories :
      can(regex("^projects/[a-z0-9.:-]+/locations/[a-z0-9-]+/repositories/[a-z0-9.-]+$", name))
    ])
    error_message = "List at most 100 full names: projects/PROJECT/locations/LOCATION/repositories/NAME. That of gcr.io is locations/us/repositories/gcr.io."
  }
}

variable "remote_repositories" {
  description = "Artifact Registry repositories that fetch public images from another registry, by name: { docker-hub = \"docker.io\" }."
  type        = map(string)
  nullable    = false
  default     = {}
  validation {
    condition = length(var.remote_repositories) <= 20 && alltrue([
      for name, host in var.remote_repositories :
      can(regex("^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$", name)) && can(regex("^[a-z0-9-]+(\\.[a-z0-9-]+)+(:[0-9]{1,5})?$", host))
    ])
    error_message = "Map at most 20 names (lowercase letters, digits, dashes) to hosts as names of images have them: docker.io, ghcr.io."
  }
  validation {
    condition     = length(distinct(values(var.remote_repositories))) == length(var.remote_repositories)
    error_message = "One repository for each registry is enough: images of it are named by this repository."
  }
}

variable "registries" {
  description = "Logins to other registries, by host: the name of a secret whose value is user:password, and the host of a token service of its own."
  type = map(object({
    secret     = string
    token_host = optional(string)
  }))
  nullable = false
  default  = {}
  validation {
    condition = length(var.registries) <= 20 && alltrue([
      for host in flatten([for host, registry in var.registries : compact([host, registry.token_host])]) :
      can(regex("^[a-z0-9-]+(\\.[a-z0-9-]+)+(:[0-9]{1,5})?$", host))
    ])
    error_message = "List at most 20 hosts as names of images have them, in lowercase: ghcr.io, docker.io, registry.example.com:5000."
  }
  validation {
    condition     = alltrue([for registry in values(var.registries) : can(regex("^[A-Za-z0-9_-]{1,255}$", registry.secret))])
    error_message = "secret is the name of a secret. Never put a password here."
  }
  validation {
    condition = length(setintersection(
      [for registry in values(var.registries) : registry.secret],
      concat(tolist(var.secrets), tolist(local.notification_secrets)),
    )) == 0
    error_message = "A secret of a registry must not be in secrets, nor belong to a notification channel. Choose another name."
  }
}

variable "containers" {
  description = "Whether programs may run as root in their containers. An image that sets no USER runs as root, and one that sets it by a name may."
  type        = object({ allow_root = optional(bool, true) })
  nullable    = false
  default     = {}
}
