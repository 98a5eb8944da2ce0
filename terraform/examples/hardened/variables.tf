variable "billing_account" {
  description = "The billing account that the budget is set on: XXXXXX-XXXXXX-XXXXXX."
  type        = string
}

variable "kms_key_name" {
  description = "The key, in the deployment's region."
  type        = string
}

variable "operator_email" {
  description = "Who is told when something stands still."
  type        = string
}

variable "project_id" {
  description = "The project that Dropforge goes into."
  type        = string
}

variable "region" {
  description = "The one region in which everything is and runs."
  type        = string
  default     = "europe-west4"
}

variable "team" {
  description = "The group whose members submit jobs."
  type        = string
}

variable "zones" {
  description = "The zones that jobs may use."
  type        = list(string)
  default     = ["europe-west4-a", "europe-west4-b"]
}
