# The default of a network, made explicit: no ingress to VMs, not even SSH.
resource "google_compute_firewall" "deny_ingress" {
  project       = var.project_id
  name          = "${var.name}-deny-ingress"
  description   = "Denies all ingress."
  network       = google_compute_network.this.id
  direction     = "INGRESS"
  priority      = 65534
  source_ranges = ["0.0.0.0/0"]

  deny {
    protocol = "all"
  }
}

# The addresses from which Identity-Aware Proxy forwards TCP (docs, "Using IAP for TCP forwarding").
resource "google_compute_firewall" "shell" {
  count         = var.shell ? 1 : 0
  project       = var.project_id
  name          = "${var.name}-shell"
  description   = "Allows SSH to VMs through Identity-Aware Proxy."
  network       = google_compute_network.this.id
  direction     = "INGRESS"
  priority      = 1000
  source_ranges = ["35.235.240.0/20"]
  target_tags   = [var.vm_tag]

  allow {
    protocol = "tcp"
    ports    = ["22"]
  }
}

# Replicas of a job connect to each other's internal addresses (TF_CONFIG, MASTER_ADDR), on ports that programs choose.
resource "google_compute_firewall" "replicas" {
  project     = var.project_id
  name        = "${var.name}-replicas"
  description = "Allows traffic between VMs of training jobs."
  network     = google_compute_network.this.id
  direction   = "INGRESS"
  priority    = 1000
  source_tags = [var.vm_tag]
  target_tags = [var.vm_tag]

  allow {
    protocol = "tcp"
  }
  allow {
    protocol = "icmp"
  }
}
