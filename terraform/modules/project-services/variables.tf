variable "project_id" {
  description = "The project whose APIs are switched on."
  type        = string
  nullable    = false
}

variable "with_budget" {
  description = "Whether the Cloud Billing Budget API is needed as well."
  type        = bool
  nullable    = false
  default     = false
}

variable "with_cmek" {
  description = "Whether Cloud KMS is needed as well."
  type        = bool
  nullable    = false
  default     = false
}

variable "with_secrets" {
  description = "Whether Secret Manager is needed as well."
  type        = bool
  nullable    = false
  default     = false
}
