variable "build_account" {
  description = "Service account of Cloud Build: its full name, and its IAM member."
  type        = object({ name = string, member = string })
  nullable    = false
}

variable "delivery" {
  description = "Message delivery: topics, the account of push requests, and Pub/Sub's service agent."
  type = object({
    topic_ids         = map(string)
    dead_letter_topic = string
    push_account      = string
    service_agent     = string
  })
  nullable = false
}

variable "encryption" {
  description = "Cloud KMS key (CMEK); null for Google-managed encryption."
  type        = object({ kms_key_name = string })
  default     = null
}

variable "functions" {
  description = "Functions with limits, accounts and invokers. Without a topic: no subscription; with channels: one each."
  type = map(object({
    description       = string
    service_account   = string
    environment       = map(string)
    invokers          = map(string)
    topic             = optional(string)
    channels          = optional(set(string))
    memory_mib        = optional(number, 256)
    cpu               = optional(string)
    timeout_seconds   = optional(number, 60)
    instances_max     = optional(number, 10)
    concurrency       = optional(number, 1)
    is_image_shared   = optional(bool, false)
    ingress           = optional(string, "ALLOW_INTERNAL_ONLY")
    deliveries_max    = optional(number, 10)
    retention_seconds = optional(number, 604800)
  }))
  nullable = false
  validation {
    condition = alltrue([
      for function in values(var.functions) : function.topic == null || function.timeout_seconds <= 540
    ])
    error_message = "timeout_seconds must be at most 540 for a function with a topic: Pub/Sub waits at most 600 s."
  }
  validation {
    condition = alltrue([
      for function in values(var.functions) : function.deliveries_max >= 5 && function.deliveries_max <= 100
    ])
    error_message = "deliveries_max must be 5 to 100, the limits of Pub/Sub."
  }
  validation {
    condition = alltrue([
      for function in values(var.functions) : function.concurrency == 1 || try(tonumber(function.cpu) >= 1, false)
    ])
    error_message = "A concurrency above 1 requires a full CPU: set cpu = \"1\"."
  }
  validation {
    condition = alltrue(flatten([
      for function in values(var.functions) : [
        for member in values(function.invokers) : !contains(["allUsers", "allAuthenticatedUsers"], member)
      ]
    ]))
    error_message = "A function must not be public: list service accounts, users or groups."
  }
}

variable "labels" {
  description = "Labels of functions, subscriptions and the image repository."
  type        = map(string)
  nullable    = false
  default     = {}
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

variable "region" {
  description = "Region of the functions."
  type        = string
  nullable    = false
}

variable "source_bucket" {
  description = "Bucket of the function archives."
  type        = string
  nullable    = false
}

variable "source_dir" {
  description = "Directory with NAME.zip of each function."
  type        = string
  nullable    = false
  validation {
    condition     = alltrue([for name in keys(var.functions) : fileexists("${var.source_dir}/${name}.zip")])
    error_message = "NAME.zip of at least one function is missing in the directory. Run `npm run build` first."
  }
}

variable "vpc_connector" {
  description = "Serverless VPC Access connector through which functions send traffic; null for none."
  type        = object({ name = string, egress = string })
  default     = null
}
