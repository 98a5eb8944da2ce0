# Variables on looking into VMs: those that are kept after a failure, and shells (docs/shell.md).
variable "keep_on_failure_max" {
  description = "How long a job may keep the VM of a failed program, such as 90m or 2h, at most 24h. 0 forbids it."
  type        = string
  nullable    = false
  default     = "1h"
  validation {
    condition     = can(regex("^([0-9]|1[0-9]|2[0-4])h$|^([0-9]{1,3}|1[0-3][0-9]{2}|14[0-3][0-9]|1440)m$|^0$", var.keep_on_failure_max))
    error_message = "keep_on_failure_max is a number of minutes or hours, such as 90m or 2h, at most 24h; or 0."
  }
}

variable "keep_on_failure_cost_max_usd" {
  description = "What a VM that is kept after a failure may cost, in US dollars, at list price."
  type        = number
  nullable    = false
  default     = 20
  validation {
    condition     = var.keep_on_failure_cost_max_usd >= 0
    error_message = "keep_on_failure_cost_max_usd must not be negative."
  }
}

variable "shell_access" {
  description = "Members who may open a shell in VMs (dropforge exec). They can do whatever the service accounts of VMs can."
  type = object({
    members = list(string)
  })
  nullable = true
  default  = null
  validation {
    condition     = alltrue([for member in try(var.shell_access.members, []) : can(regex("^(user|group|serviceAccount):.+@.+$", member))])
    error_message = "A member has the form user:EMAIL, group:EMAIL or serviceAccount:EMAIL."
  }
}
