variable "encryption" {
  description = "A key of Cloud KMS in place of Google's own; null for Google's."
  type        = object({ kms_key_name = string })
  default     = null
}

variable "labels" {
  description = "For the topics."
  type        = map(string)
  nullable    = false
  default     = {}
}

variable "prefix" {
  description = "Before the names of topics, as the code has it (infra/google-cloud/pubsub, TOPIC_PREFIX)."
  type        = string
  nullable    = false
}

variable "project_id" {
  description = "The project."
  type        = string
  nullable    = false
}

variable "project_number" {
  description = "The project's number, by which Pub/Sub's service agent is named."
  type        = string
  nullable    = false
}

variable "publishers" {
  description = "Who may publish to which topic."
  type        = map(object({ topic = string, member = string }))
  nullable    = false
  default     = {}
}

variable "region" {
  description = "Where the scheduler is."
  type        = string
  nullable    = false
}

variable "schedules" {
  description = "What Cloud Scheduler publishes, and when (cron, UTC)."
  type = map(object({
    topic   = string
    cron    = string
    message = map(string)
  }))
  nullable = false
  default  = {}
  validation {
    condition     = alltrue([for schedule in values(var.schedules) : length(split(" ", schedule.cron)) == 5])
    error_message = "A schedule has five fields: minute, hour, day of the month, month, day of the week."
  }
  validation {
    condition     = alltrue([for schedule in values(var.schedules) : length(schedule.message) > 0])
    error_message = "A message has at least one field: Pub/Sub takes no empty ones."
  }
}

variable "upload_bucket" {
  description = "The bucket whose finished objects are announced on the topic uploads."
  type        = string
  nullable    = false
}
