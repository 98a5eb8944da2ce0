variable "encryption" {
  description = "A key of Cloud KMS in place of Google's own; null for Google's."
  type        = object({ kms_key_name = string })
  default     = null
}

variable "project_id" {
  description = "The project."
  type        = string
  nullable    = false
}

variable "project_number" {
  description = "The project's number, by which its service agents are named."
  type        = string
  nullable    = false
}

variable "with_secrets" {
  description = "Whether Secret Manager encrypts with the key as well."
  type        = bool
  nullable    = false
  default     = false
}
