variable "access_policy" {
  description = "Number of the organization's access policy: gcloud access-context-manager policies list"
  type        = string
}

variable "data_projects" {
  description = "Numbers of other projects whose buckets jobs read."
  type        = list(string)
  default     = []
}

variable "image_projects" {
  description = "Numbers of other projects whose container images jobs run: those of image_repositories."
  type        = list(string)
  default     = []
}

variable "image_repositories" {
  description = "Artifact Registry repositories whose images jobs may run."
  type        = set(string)
  default     = []
}

variable "job_accounts" {
  description = "Service accounts that jobs may run as."
  type        = list(string)
  default     = []
}

variable "key_projects" {
  description = "Numbers of other projects with encryption keys of jobs (job_keys)."
  type        = list(string)
  default     = []
}

variable "network_projects" {
  description = "Numbers of host projects of Shared VPC networks that VMs use: they are part of the perimeter."
  type        = list(string)
  default     = []
}

variable "operators" {
  description = "Who applies this configuration, as user:…, group:… or serviceAccount:…: the perimeter would shut them out."
  type        = list(string)
  validation {
    condition     = length(var.operators) > 0
    error_message = "List who applies this configuration: without an ingress rule, the next apply would be denied."
  }
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
