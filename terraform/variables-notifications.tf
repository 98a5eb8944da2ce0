# Variables of messages to people and programs.
variable "notifications" {
  description = "Notification channels by name: kind, names of secrets, states and filters (docs/notifications.md)."
  type = map(object({
    kind           = string
    secret         = string
    signing_secret = optional(string)
    from           = optional(string)
    to             = optional(list(string))
    states         = optional(list(string), ["SUCCEEDED", "FAILED"])
    labels         = optional(map(string), {})
    trials         = optional(bool, false)
  }))
  nullable = false
  default  = {}
  validation {
    condition     = alltrue([for name in keys(var.notifications) : can(regex("^[a-z][a-z0-9-]{0,30}$", name))])
    error_message = "A channel name has up to 31 lowercase letters, digits and dashes, and begins with a letter."
  }
  validation {
    condition = length(var.notifications) <= 20 && alltrue([
      for channel in values(var.notifications) :
      contains(["slack", "teams", "discord", "google-chat", "webhook", "email"], channel.kind)
    ])
    error_message = "At most 20 channels of kind slack, teams, discord, google-chat, webhook or email."
  }
  validation {
    condition = alltrue([
      for channel in values(var.notifications) : alltrue([
        for name in compact([channel.secret, channel.signing_secret]) : can(regex("^[A-Za-z0-9_-]{1,255}$", name))
      ])
    ])
    error_message = "secret and signing_secret are names of secrets. Never put an address or a key here."
  }
  validation {
    condition = length(setintersection(var.secrets, flatten([
      for channel in values(var.notifications) : compact([channel.secret, channel.signing_secret])
    ]))) == 0
    error_message = "A secret of a channel must not be in secrets: every job could read it. Choose another name."
  }
  validation {
    condition = alltrue([
      for channel in values(var.notifications) :
      (channel.signing_secret != null) == (channel.kind == "webhook") &&
      (channel.from != null) == (channel.kind == "email") &&
      (try(length(channel.to), 0) > 0) == (channel.kind == "email")
    ])
    error_message = "A webhook requires signing_secret; an email requires from and to. Other kinds have neither."
  }
  validation {
    condition = alltrue([
      for channel in values(var.notifications) : length(channel.states) > 0 && alltrue([
        for state in channel.states : contains([
          "QUEUED", "PREPARING", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLING", "CANCELLED", "INTERRUPTED", "REFUSED",
        ], state)
      ])
    ])
    error_message = "states are SUCCEEDED, FAILED, CANCELLED, INTERRUPTED, REFUSED, or others of docs/notifications.md."
  }
}

variable "page_url" {
  description = "Address of the page for links in messages, such as that of a load balancer; null for that of page_access."
  type        = string
  default     = null
  validation {
    condition     = var.page_url == null || can(regex("^https://[^/ ]+(/[^ ]*)?$", var.page_url))
    error_message = "page_url must be an https:// URL."
  }
}
