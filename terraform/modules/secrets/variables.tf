variable "accessors" {
  description = "Accounts that may read the values: IAM member and role."
  type        = map(object({ member = string, role = string }))
  nullable    = false
}

variable "encryption" {
  description = "Cloud KMS key (CMEK); null for Google-managed encryption."
  type        = object({ kms_key_name = string })
  default     = null
}

variable "labels" {
  description = "Labels of the secrets."
  type        = map(string)
  nullable    = false
}

variable "location" {
  description = "Region of the values if a customer-managed key encrypts them."
  type        = string
  nullable    = false
}

variable "names" {
  description = "Names of the secrets."
  type        = set(string)
  nullable    = false
}

variable "project_id" {
  description = "Project id."
  type        = string
  nullable    = false
}
