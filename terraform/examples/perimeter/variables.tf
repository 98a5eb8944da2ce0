variable "access_policy" {
  description = "Number of the organization's access policy: gcloud access-context-manager policies list"
  type        = string
}

variable "data_projects" {
  description = "Numbers of other projects whose buckets jobs read."
  type        = list(string)
  default     = []
}

variable "project_id" {
  description = "Project to deploy to."
  type        = string
}

variable "project_number" {
  description = "Number of the same project: perimeters contain numbers."
  type        = string
}

variable "team" {
  description = "Google group whose members submit jobs, from anywhere."
  type        = string
}
