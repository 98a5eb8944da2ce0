variable "encryption" {
  description = "Cloud KMS key (CMEK); null for Google-managed encryption."
  type        = object({ kms_key_name = string })
  default     = null
}

variable "labels" {
  description = "Labels of the topics."
  type        = map(string)
  nullable    = false
  default     = {}
}

variable "prefix" {
  description = "Prefix of topic names, as in the code (infra/google-cloud/pubsub, TOPIC_PREFIX)."
  type        = string
  nullable    = false
}

variable "project_id" {
  description = "Project id."
  type        = string
  nullable    = false
}

variable "project_number" {
  description = "Project number; part of the name of Pub/Sub's service agent."
  type        = string
  nullable    = false
}

variable "publishers" {
  description = "Publishers of the topics."
  type        = map(object({ topic = string, member = string }))
  nullable    = false
  default     = {}
}

variable "region" {
  description = "Region of Cloud Scheduler."
  type        = string
  nullable    = false
}

variable "schedules" {
  description = "Messages that Cloud Scheduler publishes, and their cron schedules (UTC)."
  type = map(object({
    topic   = string
    cron    = string
    message = map(string)
  }))
  nullable = false
  default  = {}
  validation {
    condition     = alltrue([for schedule in values(var.schedules) : length(split(" ", schedule.cron)) == 5])
    error_message = "A cron schedule has five fields: minute, hour, day of the month, month, day of the week."
  }
  validation {
    condition     = alltrue([for schedule in values(var.schedules) : length(schedule.message) > 0])
    error_message = "A message needs at least one field: Pub/Sub rejects empty messages."
  }
}

variable "upload_bucket" {
  description = "Bucket whose finalized objects are published to the topic uploads."
  type        = string
  nullable    = false
}
