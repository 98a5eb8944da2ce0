variable "flow_logs" {
  description = "Whether a tenth of the connections is logged."
  type        = bool
  nullable    = false
  default     = false
}

variable "name" {
  description = "The network's, and each subnet's."
  type        = string
  nullable    = false
}

variable "nat" {
  description = "Whether VMs reach the internet, such as pypi.org. Costs money also while no VM runs."
  type        = bool
  nullable    = false
  default     = false
}

variable "project_id" {
  description = "The project."
  type        = string
  nullable    = false
}

variable "subnets" {
  description = "The range of addresses by region."
  type        = map(string)
  nullable    = false
  validation {
    condition     = length(var.subnets) > 0
    error_message = "Name at least one region: VMs need a subnet where they run."
  }
}

variable "vm_tag" {
  description = "The network tag of the VMs (infra/google-cloud/compute-engine/instance-request.ts)."
  type        = string
  nullable    = false
}
