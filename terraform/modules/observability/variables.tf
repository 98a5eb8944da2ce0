variable "alerts" {
  description = "Alert recipients (addresses and existing channels) and thresholds."
  type = object({
    emails                = set(string)
    notification_channels = set(string)
    backlog_minutes       = number
    vm_age_hours_max      = number
  })
  nullable = false
}

variable "budget" {
  description = "Monthly budget of the project; null for none."
  type = object({
    billing_account = string
    amount          = number
    currency_code   = optional(string)
  })
  default = null
  validation {
    condition     = var.budget == null || try(var.budget.amount >= 1, false)
    error_message = "A budget must be at least one unit of its currency; use null for none."
  }
}

variable "encryption" {
  description = "Cloud KMS key (CMEK) of the log bucket; null for Google-managed encryption."
  type        = object({ kms_key_name = string })
  default     = null
}

variable "log_bucket" {
  description = "Location and retention of the bucket for the logs of functions and jobs; null leaves them in _Default."
  type        = object({ location = string, retention_days = number })
  default     = null
}

variable "prefix" {
  description = "Prefix of function and subscription names."
  type        = string
  nullable    = false
}

variable "project_id" {
  description = "Project id."
  type        = string
  nullable    = false
}

variable "project_number" {
  description = "Project number; the budget filter requires it."
  type        = string
  nullable    = false
}

variable "subscriptions" {
  description = "Subscription names by function; must contain watch."
  type        = map(string)
  nullable    = false
  validation {
    condition     = contains(keys(var.subscriptions), "watch")
    error_message = "The subscription of watch is missing: the alert on a stopped reconciler needs it."
  }
}

variable "uptime_host" {
  description = "Host of `api` for the uptime check; null if it cannot be reached from outside, for none."
  type        = string
  default     = null
}
