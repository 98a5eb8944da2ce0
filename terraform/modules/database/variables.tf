variable "deletion_protection" {
  description = "Whether Firestore rejects the deletion of the database."
  type        = bool
  nullable    = false
  default     = true
}

variable "encryption" {
  description = "Cloud KMS key (CMEK); null for Google-managed encryption."
  type        = object({ kms_key_name = string })
  default     = null
}

variable "location" {
  description = "Region, or the multi-region nam5 or eur3. It cannot be changed later."
  type        = string
  nullable    = false
}

variable "name" {
  description = "Database id. It must not be (default), which other applications of the project may use."
  type        = string
  nullable    = false
  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{2,61}[a-z0-9]$", var.name))
    error_message = "A database id has 4 to 63 lowercase letters, digits and dashes, and begins with a letter."
  }
}

variable "point_in_time_recovery" {
  description = "Whether any state of the last seven days can be restored. Billed by the amount of data."
  type        = bool
  nullable    = false
  default     = false
}

variable "project_id" {
  description = "Project id."
  type        = string
  nullable    = false
}
