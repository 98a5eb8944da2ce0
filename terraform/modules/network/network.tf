resource "google_compute_network" "this" {
  project = var.project_id
  name    = var.name
  # Not to be changed: another description replaces the network.
  description             = "The VMs of training jobs."
  auto_create_subnetworks = false
  routing_mode            = "REGIONAL"
}

# The same name in every region: the code inserts the VM's region into the pattern.
resource "google_compute_subnetwork" "this" {
  for_each                 = var.subnets
  project                  = var.project_id
  name                     = var.name
  region                   = each.key
  network                  = google_compute_network.this.id
  ip_cidr_range            = each.value
  private_ip_google_access = true

  dynamic "log_config" {
    for_each = var.flow_logs ? [true] : []
    content {
      aggregation_interval = "INTERVAL_10_MIN"
      flow_sampling        = 0.1
      metadata             = "INCLUDE_ALL_METADATA"
    }
  }
}
