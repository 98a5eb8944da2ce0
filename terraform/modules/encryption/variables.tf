variable "kms_key_name" {
  description = "The key, or null for Google's own."
  type        = string
  default     = null
}


variable "project_number" {
  description = "The project's number, by which its service agents are named."
  type        = string
  nullable    = false
}
