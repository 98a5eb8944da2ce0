variable "build_account" {
  description = "Who makes the images: the account's full name, and the same as a member of a policy."
  type        = object({ name = string, member = string })
  nullable    = false
}

variable "delivery" {
  description = "How messages reach functions: topics, the account that pushes, and Pub/Sub's own agent."
  type = object({
    topic_ids         = map(string)
    dead_letter_topic = string
    push_account      = string
    service_agent     = string
  })
  nullable = false
}

variable "functions" {
  description = "What to run, within which limits, as whom, and who may call it. Without a topic it hears no messages."
  type = map(object({
    description       = string
    service_account   = string
    environment       = map(string)
    invokers          = map(string)
    topic             = optional(string)
    memory_mib        = optional(number, 256)
    cpu               = optional(string)
    timeout_seconds   = optional(number, 60)
    instances_max     = optional(number, 10)
    concurrency       = optional(number, 1)
    ingress           = optional(string, "ALLOW_INTERNAL_ONLY")
    attempts_max      = optional(number, 10)
    retention_seconds = optional(number, 604800)
  }))
  nullable = false
  validation {
    condition = alltrue([
      for function in values(var.functions) : function.topic == null || function.timeout_seconds <= 540
    ])
    error_message = "Pub/Sub waits 600 s at most for an answer: a function with a topic has 540 s."
  }
  validation {
    condition = alltrue([
      for function in values(var.functions) : function.attempts_max >= 5 && function.attempts_max <= 100
    ])
    error_message = "Pub/Sub tries 5 to 100 times before it gives a message up."
  }
  validation {
    condition = alltrue([
      for function in values(var.functions) : function.concurrency == 1 || try(tonumber(function.cpu) >= 1, false)
    ])
    error_message = "More than one request at a time needs a whole CPU: set cpu = \"1\"."
  }
  validation {
    condition = alltrue(flatten([
      for function in values(var.functions) : [
        for member in values(function.invokers) : !contains(["allUsers", "allAuthenticatedUsers"], member)
      ]
    ]))
    error_message = "No function is open to the public."
  }
}

variable "labels" {
  description = "For functions, subscriptions and images."
  type        = map(string)
  nullable    = false
  default     = {}
}

variable "prefix" {
  description = "Before the names of functions and subscriptions."
  type        = string
  nullable    = false
}

variable "project_id" {
  description = "The project."
  type        = string
  nullable    = false
}

variable "region" {
  description = "Where functions run."
  type        = string
  nullable    = false
}

variable "source_bucket" {
  description = "Where the functions' sources are put."
  type        = string
  nullable    = false
}

variable "source_dir" {
  description = "The directory with NAME.zip for every function."
  type        = string
  nullable    = false
  validation {
    condition     = alltrue([for name in keys(var.functions) : fileexists("${var.source_dir}/${name}.zip")])
    error_message = "Not every function has its NAME.zip in that directory. Run `npm run build` first."
  }
}
