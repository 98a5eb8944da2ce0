variable "alerts" {
  description = "Who is told, and when: addresses, channels that are there already, and limits."
  type = object({
    emails                = set(string)
    notification_channels = set(string)
    backlog_minutes       = number
    vm_age_hours_max      = number
  })
  nullable = false
}

variable "budget" {
  description = "What the project may cost in a month before somebody is told; null for no budget."
  type = object({
    billing_account = string
    amount          = number
    currency_code   = optional(string)
  })
  default = null
  validation {
    condition     = var.budget == null || try(var.budget.amount >= 1, false)
    error_message = "A budget is at least one unit of its currency; use null for none."
  }
}

variable "prefix" {
  description = "What the names of functions and subscriptions begin with."
  type        = string
  nullable    = false
}

variable "project_id" {
  description = "The project."
  type        = string
  nullable    = false
}

variable "project_number" {
  description = "The project's number: what a budget knows it by."
  type        = string
  nullable    = false
}

variable "subscriptions" {
  description = "The subscriptions by the function that hears them; watch must be among them."
  type        = map(string)
  nullable    = false
  validation {
    condition     = contains(keys(var.subscriptions), "watch")
    error_message = "The watcher's subscription is missing: without it nobody would see that the watcher has stopped."
  }
}
