# Builds a custom image of one of Dropforge's runtimes (runtimes.json):
#   packer init runtime.pkr.hcl
#   packer build -var project_id=PROJECT -var runtime=2.20 -var build=v20261121 runtime.pkr.hcl
# make-machine-image.sh creates machine images from it.
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
  description = "Project in which the image is built and stored."
  type        = string
  validation {
    condition     = can(regex("^([a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]$", var.project_id))
    error_message = "A project id has the form my-project-123; it is not the project's number or name."
  }
}

variable "runtime" {
  description = "Name of a runtime in runtimes.json, not of a version that it replaces."
  type        = string
  validation {
    condition     = contains([for runtime in jsondecode(file("runtimes.json")).runtimes : runtime.name], var.runtime)
    error_message = "Runtimes.json has no runtime with this name. Run Packer in the folder of the template."
  }
}

variable "build" {
  description = "Version of the image, the last part of its name. Never reuse one from which jobs boot."
  type        = string
  validation {
    condition     = can(regex("^v[a-z0-9]{1,20}$", var.build))
    error_message = "A build is v and up to 20 lowercase letters or digits, such as v20261121."
  }
}

variable "zone" {
  description = "Zone of the VM on which the image is built."
  type        = string
  default     = "us-central1-a"
  validation {
    condition     = can(regex("^[a-z]+-[a-z]+[0-9]+-[a-z]$", var.zone))
    error_message = "A zone has the form us-central1-a."
  }
}

variable "machine_type" {
  description = "Machine type of that VM. It needs no GPU: the driver is installed without one."
  type        = string
  default     = "n1-standard-4"
}

variable "disk_type" {
  description = "Disk type of that VM; null for that of the machine images. C4A, for example, requires hyperdisk-balanced."
  type        = string
  default     = null
}

variable "accelerator" {
  description = "GPU of that VM, such as nvidia-tesla-t4, to run nvidia-smi before the image is created; null for none."
  type        = string
  default     = null
}

variable "subnetwork" {
  description = "Subnetwork of that VM, by name or URL; null for the default network's."
  type        = string
  default     = null
}

variable "has_public_ip" {
  description = "Whether that VM has a public address. Without one it is reached through IAP and needs Cloud NAT."
  type        = bool
  default     = false
}

variable "use_os_login" {
  description = "Whether Packer logs in by OS Login, which compute.requireOsLogin demands: needs roles/compute.osAdminLogin."
  type        = bool
  default     = false
}

variable "storage_location" {
  description = "Location of the image: a region, or us, eu or asia; null for the one closest to the zone."
  type        = string
  default     = null
}

variable "preload_images" {
  description = "Public container images that the image contains: jobs do not download their layers again."
  type        = list(string)
  default     = []
  validation {
    condition     = alltrue([for image in var.preload_images : can(regex("^[a-z0-9][a-z0-9.:/_@-]*$", image))])
    error_message = "An image has the form host/repository:tag or host/repository@sha256:digest, in lowercase."
  }
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
  # A2 and later machine types require gVNIC and multiple queues.
  image_guest_os_features = ["UEFI_COMPATIBLE", "GVNIC", "VIRTIO_SCSI_MULTIQUEUE"]

  machine_type        = var.machine_type
  accelerator_type    = var.accelerator == null ? null : "zones/${var.zone}/acceleratorTypes/${var.accelerator}"
  accelerator_count   = var.accelerator == null ? null : 1
  on_host_maintenance = var.accelerator == null ? "MIGRATE" : "TERMINATE"
  disk_size           = local.runtimes.disk.sizeGib
  disk_type           = var.disk_type == null ? local.runtimes.disk.type : var.disk_type
  labels              = { managed-by = "dropforge", dropforge-purpose = "machine-image" }

  # Canonical signs the drivers, so they load under Secure Boot.
  enable_secure_boot          = true
  enable_vtpm                 = true
  enable_integrity_monitoring = true

  # The installed software is third-party and gets no access to the project.
  disable_default_service_account = true
  metadata                        = { block-project-ssh-keys = "TRUE" }

  subnetwork       = var.subnetwork
  omit_external_ip = !var.has_public_ip
  use_internal_ip  = !var.has_public_ip
  use_iap          = !var.has_public_ip
  use_os_login     = var.use_os_login
  ssh_username     = "dropforge-image"
}

build {
  sources = ["source.googlecompute.runtime"]

  provisioner "shell" {
    inline = ["sudo install -d -o \"$(id -un)\" ${local.tools}"]
  }

  provisioner "file" {
    sources = [
      "${path.root}/provision.sh",
      "${path.root}/check-image.sh",
      "${path.root}/try_files.py",
      "${path.root}/../vm-agent/vm_agent/paths/hook.py",
    ]
    destination = "${local.tools}/"
  }

  provisioner "file" {
    content     = jsonencode(local.runtime)
    destination = "${local.tools}/runtime.json"
  }

  # The driver's modules are for the newest kernel, which is active after a reboot.
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

  provisioner "shell" {
    inline = ["sudo bash ${local.tools}/provision.sh preload ${join(" ", var.preload_images)}"]
  }

  # In one session: SSH access is removed by it.
  provisioner "shell" {
    skip_clean = true
    inline = [
      "sudo bash ${local.tools}/provision.sh clean",
      "sudo bash ${local.tools}/check-image.sh --unbooted --root /",
      "sudo rm -rf ${local.tools}",
    ]
  }
}
