variable "project_id" {
  description = "Project whose APIs are enabled."
  type        = string
  nullable    = false
}

variable "with_budget" {
  description = "Whether to enable the Cloud Billing Budget API."
  type        = bool
  nullable    = false
  default     = false
}

variable "with_cmek" {
  description = "Whether to enable Cloud KMS."
  type        = bool
  nullable    = false
  default     = false
}

variable "with_iap" {
  description = "Whether to enable Identity-Aware Proxy, through which shells in VMs and the page are opened."
  type        = bool
  nullable    = false
  default     = false
}

variable "with_secrets" {
  description = "Whether to enable Secret Manager."
  type        = bool
  nullable    = false
  default     = false
}
