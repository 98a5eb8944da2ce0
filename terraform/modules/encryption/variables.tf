variable "encryption" {
  description = "Cloud KMS key (CMEK); null for Google-managed encryption."
  type        = object({ kms_key_name = string })
  default     = null
}

variable "project_id" {
  description = "Project id."
  type        = string
  nullable    = false
}

variable "project_number" {
  description = "Project number; part of the names of service agents."
  type        = string
  nullable    = false
}

variable "with_logs" {
  description = "Whether a log bucket uses the key as well."
  type        = bool
  nullable    = false
  default     = false
}

variable "with_secrets" {
  description = "Whether Secret Manager uses the key as well."
  type        = bool
  nullable    = false
  default     = false
}
