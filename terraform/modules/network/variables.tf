variable "flow_logs" {
  description = "Whether VPC flow logs are enabled (10% of connections)."
  type        = bool
  nullable    = false
  default     = false
}

variable "name" {
  description = "Name of the network and of each subnet."
  type        = string
  nullable    = false
}

variable "nat" {
  description = "Whether VMs reach the internet, for example pypi.org. Billed even if no VM runs."
  type        = bool
  nullable    = false
  default     = false
}

variable "project_id" {
  description = "Project id."
  type        = string
  nullable    = false
}

variable "shell" {
  description = "Whether VMs accept SSH through Identity-Aware Proxy."
  type        = bool
  nullable    = false
  default     = false
}

variable "subnets" {
  description = "CIDR ranges by region."
  type        = map(string)
  nullable    = false
  validation {
    condition     = length(var.subnets) > 0
    error_message = "At least one region is required: VMs run only in regions with a subnet."
  }
}

variable "vm_tag" {
  description = "Network tag of the VMs (infra/google-cloud/compute-engine/instance-request.ts)."
  type        = string
  nullable    = false
}
