variable "accounts" {
  description = "Service accounts by short name."
  type        = map(object({ description = string }))
  nullable    = false
  validation {
    condition     = alltrue([for name in keys(var.accounts) : can(regex("^[a-z][a-z0-9-]*[a-z0-9]$", name))])
    error_message = "Account names consist of lowercase letters, digits and dashes."
  }
}

variable "actor_grants" {
  description = "Accounts that may attach another one, or the account with an e-mail address, to what they create."
  type        = map(object({ account = string, acts_as = string }))
  nullable    = false
  default     = {}
}

variable "custom_roles" {
  description = "Custom roles with only the needed permissions, where predefined roles have more."
  type = map(object({
    title       = string
    description = string
    permissions = set(string)
  }))
  nullable = false
  default  = {}
}

variable "member_grants" {
  description = "Project-level grants of a predefined role or a key of custom_roles to other members."
  type        = map(object({ member = string, role = string }))
  nullable    = false
  default     = {}
}

variable "prefix" {
  description = "Prefix of account and role names."
  type        = string
  nullable    = false
  validation {
    condition     = length(var.prefix) <= 12
    error_message = "The prefix must have at most 12 characters: account ids are limited to 30."
  }
}

variable "project_grants" {
  description = "Project-level grants: a predefined role or a key of custom_roles, and an optional condition."
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
    error_message = "Basic roles (owner, editor, viewer) are too broad: use the specific role that the account needs."
  }
}

variable "role_suffix" {
  description = "Suffix of custom role ids: the id of a deleted role is reserved for a month."
  type        = string
  nullable    = false
  default     = ""
  validation {
    condition     = can(regex("^[a-zA-Z0-9_.]{0,20}$", var.role_suffix))
    error_message = "The suffix has at most 20 letters, digits, underscores and dots."
  }
}

variable "project_id" {
  description = "Project id."
  type        = string
  nullable    = false
}
