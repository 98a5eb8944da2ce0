# A custom image of one of Dropforge's runtimes (runtimes.json):
#   packer init runtime.pkr.hcl
#   packer build -var project_id=PROJECT -var runtime=2.20 -var build=v20261121 runtime.pkr.hcl
# make-machine-image.sh makes machine images of it.
packer {
  required_version = ">= 1.9.0"
  required_plugins {
    googlecompute = {
      source  = "github.com/hashicorp/googlecompute"
      version = ">= 1.1.0, < 2.0.0"
    }
  }
}

variable "project_id" {
  description = "The project that the image is made and kept in."
  type        = string
  validation {
    condition     = can(regex("^([a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]$", var.project_id))
    error_message = "A project id looks like my-project-123; the number or the title of the project does not do."
  }
}

variable "runtime" {
  description = "Which runtime of runtimes.json, by its name and not by one that stands for it."
  type        = string
  validation {
    condition     = contains([for runtime in jsondecode(file("runtimes.json")).runtimes : runtime.name], var.runtime)
    error_message = "Runtimes.json has no runtime of this name. Run Packer in the folder of the template."
  }
}

variable "build" {
  description = "The last part of the image's name: which making of it. Never one that jobs boot from already."
  type        = string
  validation {
    condition     = can(regex("^v[a-z0-9]{1,20}$", var.build))
    error_message = "A build is a v and up to 20 small letters and digits, such as v20261121."
  }
}

variable "zone" {
  description = "Where the machine is that the image is made on."
  type        = string
  default     = "us-central1-a"
  validation {
    condition     = can(regex("^[a-z]+-[a-z]+[0-9]+-[a-z]$", var.zone))
    error_message = "A zone looks like us-central1-a."
  }
}

variable "machine_type" {
  description = "The machine that the image is made on. It needs no GPU: the driver is installed without one."
  type        = string
  default     = "n1-standard-4"
}

variable "accelerator" {
  description = "A GPU for it, such as nvidia-tesla-t4, to have nvidia-smi asked before the image is taken; null for none."
  type        = string
  default     = null
}

variable "subnetwork" {
  description = "The subnetwork of that machine, by name or address; null for that of the default network."
  type        = string
  default     = null
}

variable "has_public_ip" {
  description = "Whether that machine has a public address. Without one it is reached through IAP and needs Cloud NAT."
  type        = bool
  default     = false
}

variable "storage_location" {
  description = "Where the image is kept: a region, or us, eu or asia; null for near the zone."
  type        = string
  default     = null
}

locals {
  runtimes   = jsondecode(file("runtimes.json"))
  runtime    = [for runtime in local.runtimes.runtimes : runtime if runtime.name == var.runtime][0]
  short_name = replace(local.runtime.name, "/[^a-z0-9]+/", "-")
  gpu_option = var.accelerator == null ? "--no-gpu" : ""
  tools      = "/opt/dropforge/tools"
}

source "googlecompute" "runtime" {
  project_id = var.project_id
  zone       = var.zone

  source_image_family     = local.runtime.base.family
  source_image_project_id = [local.runtime.base.project]

  image_name              = "dropforge-${local.short_name}-${var.build}"
  image_family            = "dropforge-${local.short_name}"
  image_description       = "Dropforge: ${local.runtime.title}."
  image_labels            = { managed-by = "dropforge", dropforge-build = var.build }
  image_storage_locations = var.storage_location == null ? null : [var.storage_location]
  # gVNIC and many queues: A2 and later machines want them.
  image_guest_os_features = ["UEFI_COMPATIBLE", "GVNIC", "VIRTIO_SCSI_MULTIQUEUE"]

  machine_type        = var.machine_type
  accelerator_type    = var.accelerator == null ? null : "zones/${var.zone}/acceleratorTypes/${var.accelerator}"
  accelerator_count   = var.accelerator == null ? null : 1
  on_host_maintenance = var.accelerator == null ? "MIGRATE" : "TERMINATE"
  disk_size           = local.runtimes.disk.sizeGib
  disk_type           = local.runtimes.disk.type
  labels              = { managed-by = "dropforge", dropforge-purpose = "machine-image" }

  # The drivers are signed by Canonical, and so load under Secure Boot.
  enable_secure_boot          = true
  enable_vtpm                 = true
  enable_integrity_monitoring = true

  # What is installed comes from elsewhere and gets no access to the project.
  disable_default_service_account = true
  metadata                        = { block-project-ssh-keys = "TRUE" }

  subnetwork       = var.subnetwork
  omit_external_ip = !var.has_public_ip
  use_internal_ip  = !var.has_public_ip
  use_iap          = !var.has_public_ip
  ssh_username     = "dropforge-image"
}

build {
  sources = ["source.googlecompute.runtime"]

  provisioner "shell" {
    inline = ["sudo install -d -o \"$(id -un)\" ${local.tools}"]
  }

  provisioner "file" {
    sources     = ["${path.root}/provision.sh", "${path.root}/check-image.sh"]
    destination = "${local.tools}/"
  }

  provisioner "file" {
    content     = jsonencode(local.runtime)
    destination = "${local.tools}/runtime.json"
  }

  # The driver's modules are for the newest kernel, which runs from the next start on.
  provisioner "shell" {
    expect_disconnect = true
    inline = [
      "sudo bash ${local.tools}/provision.sh install ${local.tools}/runtime.json",
      "sudo reboot",
    ]
  }

  provisioner "shell" {
    pause_before = "30s"
    inline       = ["sudo bash ${local.tools}/provision.sh verify ${local.tools}/runtime.json ${local.gpu_option}"]
  }

  # In one session: afterwards nobody can log in any more.
  provisioner "shell" {
    skip_clean = true
    inline = [
      "sudo bash ${local.tools}/provision.sh clean",
      "sudo bash ${local.tools}/check-image.sh --unbooted --root /",
      "sudo rm -rf ${local.tools}",
    ]
  }
}
