variable "accounts" {
  description = "Service accounts by their short name."
  type        = map(object({ description = string }))
  nullable    = false
  validation {
    condition     = alltrue([for name in keys(var.accounts) : can(regex("^[a-z][a-z0-9-]*[a-z0-9]$", name))])
    error_message = "Names are small letters, digits and dashes."
  }
}

variable "actor_grants" {
  description = "Which account may attach which other one to what it creates."
  type        = map(object({ account = string, acts_as = string }))
  nullable    = false
  default     = {}
}

variable "custom_roles" {
  description = "Roles of exactly the permissions that are needed, where Google's own have more."
  type = map(object({
    title       = string
    description = string
    permissions = set(string)
  }))
  nullable = false
  default  = {}
}

variable "prefix" {
  description = "Before the names of accounts and roles."
  type        = string
  nullable    = false
  validation {
    condition     = length(var.prefix) <= 12
    error_message = "Account ids have 30 characters at most: choose a prefix of 12 or fewer."
  }
}

variable "project_grants" {
  description = "Rights in the project: one of Google's roles, or a key of custom_roles, with a condition if need be."
  type = map(object({
    account   = string
    role      = string
    condition = optional(object({ title = string, expression = string }))
  }))
  nullable = false
  default  = {}
  validation {
    condition = alltrue([
      for grant in values(var.project_grants) : !contains(["roles/owner", "roles/editor", "roles/viewer"], grant.role)
    ])
    error_message = "Owner, editor and viewer are far more than any part needs; name the role that it needs."
  }
}

variable "role_suffix" {
  description = "After the ids of custom roles: the id of a role that was deleted cannot be had again for a month."
  type        = string
  nullable    = false
  default     = ""
  validation {
    condition     = can(regex("^[a-zA-Z0-9_.]{0,20}$", var.role_suffix))
    error_message = "Ids of roles are letters, digits, underscores and dots; 20 of them at most here."
  }
}

variable "project_id" {
  description = "The project."
  type        = string
  nullable    = false
}
