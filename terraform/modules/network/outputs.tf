output "regions" {
  description = "The regions in which VMs can run."
  value       = keys(google_compute_subnetwork.this)
}

output "subnetwork_pattern" {
  description = "The subnets' full name, with {region} where the region belongs."
  value       = "projects/${var.project_id}/regions/{region}/subnetworks/${var.name}"
  depends_on  = [google_compute_subnetwork.this, google_compute_firewall.deny_ingress, google_compute_router_nat.this]
}
