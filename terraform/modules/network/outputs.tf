output "regions" {
  description = "Regions with a subnet."
  value       = keys(google_compute_subnetwork.this)
}

output "subnetwork_pattern" {
  description = "Full name of the subnets, with {region} as placeholder."
  value       = "projects/${var.project_id}/regions/{region}/subnetworks/${var.name}"
  depends_on  = [google_compute_subnetwork.this, google_compute_firewall.deny_ingress, google_compute_router_nat.this]
}
