variable "accessors" {
  description = "Who may read the values, by account: its member, and the role that lets it."
  type        = map(object({ member = string, role = string }))
  nullable    = false
}

variable "encryption" {
  description = "A key of Cloud KMS in place of Google's own; null for Google's."
  type        = object({ kms_key_name = string })
  default     = null
}

variable "labels" {
  description = "Labels for the secrets."
  type        = map(string)
  nullable    = false
}

variable "location" {
  description = "The one region of values that a key of one's own encrypts."
  type        = string
  nullable    = false
}

variable "names" {
  description = "The names of the secrets."
  type        = set(string)
  nullable    = false
}

variable "project_id" {
  description = "The project."
  type        = string
  nullable    = false
}
