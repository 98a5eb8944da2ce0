variable "deletion_protection" {
  description = "Whether Firestore itself refuses to delete the database."
  type        = bool
  nullable    = false
  default     = true
}

variable "encryption" {
  description = "A key of Cloud KMS in place of Google's own; null for Google's."
  type        = object({ kms_key_name = string })
  default     = null
}

variable "location" {
  description = "A region, or nam5 or eur3. It cannot be changed later."
  type        = string
  nullable    = false
}

variable "name" {
  description = "The database's id: not (default), so that Dropforge can live beside what a project has already."
  type        = string
  nullable    = false
  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{2,61}[a-z0-9]$", var.name))
    error_message = "A database id has 4 to 63 small letters, digits and dashes, and begins with a letter."
  }
}

variable "point_in_time_recovery" {
  description = "Whether the last seven days can be gone back to. It is billed by what is stored."
  type        = bool
  nullable    = false
  default     = false
}

variable "project_id" {
  description = "The project."
  type        = string
  nullable    = false
}
