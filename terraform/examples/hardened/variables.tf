variable "billing_account" {
  description = "Billing account of the budget: XXXXXX-XXXXXX-XXXXXX."
  type        = string
}

variable "kms_key_name" {
  description = "Full name of a Cloud KMS key in the deployment's region."
  type        = string
}

variable "operator_email" {
  description = "E-mail address that receives alerts."
  type        = string
}

variable "project_id" {
  description = "Project to deploy to."
  type        = string
}

variable "region" {
  description = "Region of all resources and jobs."
  type        = string
  default     = "europe-west4"
}

variable "team" {
  description = "Google group whose members submit jobs."
  type        = string
}

variable "zones" {
  description = "Zones that jobs may use."
  type        = list(string)
  default     = ["europe-west4-a", "europe-west4-b"]
}
