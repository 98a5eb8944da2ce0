# Internet egress of VMs, which have no public addresses. Google's APIs are reached by Private Google Access instead.
resource "google_compute_router" "this" {
  for_each = var.nat ? var.subnets : {}
  project  = var.project_id
  name     = "${var.name}-${each.key}"
  region   = each.key
  network  = google_compute_network.this.id
}

resource "google_compute_router_nat" "this" {
  for_each                           = google_compute_router.this
  project                            = var.project_id
  name                               = each.value.name
  router                             = each.value.name
  region                             = each.key
  nat_ip_allocate_option             = "AUTO_ONLY"
  source_subnetwork_ip_ranges_to_nat = "LIST_OF_SUBNETWORKS"

  subnetwork {
    name                    = google_compute_subnetwork.this[each.key].id
    source_ip_ranges_to_nat = ["PRIMARY_IP_RANGE"]
  }

  log_config {
    enable = true
    filter = "ERRORS_ONLY"
  }
}
